internal import Backends
internal import JSON
internal import TransferModel

/// A place for one file in the storage behind PubNub, good for about a minute.
struct UploadSlot: Equatable {
  /// Given by PubNub.
  var id: String
  /// The name that is kept, which may differ from the one that was asked for.
  var name: String
  /// Where the form goes.
  var url: HTTPURL
  /// All of them, in order, the empty ones too.
  var fields: [(name: String, value: String)]

  static func == (a: UploadSlot, b: UploadSlot) -> Bool {
    a.id == b.id && a.name == b.name && a.url == b.url
      && a.fields.elementsEqual(b.fields, by: ==)
  }

  /// Reads the answer to the question for one.
  init(_ response: HTTPResponse) throws(TransferError) {
    let node = try? JSONNode(parsing: response.body)
    let members = Members(node)
    let data = Members(members["data"])
    let form = Members(members["file_upload_request"])
    guard let id = data.string("id"), let name = data.string("name"), !id.isEmpty, !name.isEmpty,
      let url = form.string("url"), let list = form["form_fields"], list.kind == .array
    else {
      throw TransferError(
        .presignedURLFailed,
        "PubNub's answer names no place for the file; try again later."
      )
    }
    guard let url = HTTPURL(url), form.string("method").map({ $0 == "POST" }) ?? true else {
      throw TransferError(.invalidURL, "PubNub's answer names a place that is no URL to post to.")
    }
    self.id = id
    self.name = name
    self.url = url
    fields = []
    list.forEachElement { element in
      let field = Members(element)
      if let key = field.string("key") { fields.append((key, field.string("value") ?? "")) }
      return fields.count < 64
    }
  }

  /// The form with the content, whose length is known.
  ///
  /// `type` is the content's; it takes the place of the one that was guessed from the name, the
  /// only field that may differ.
  func request(size: Int64, type: String) -> HTTPRequest {
    UploadForm(
      url: url,
      fields: fields.map { $0.name.lowercased() == "content-type" ? ($0.name, type) : $0 }
    )
    .request(name: name, type: type, size: size, id: id)
  }
}
