// swift-tools-version: 6.2
import PackageDescription

// One section per room, lowest line first; docs/architecture.md draws the same picture.
// Rooms that touch no C are also checked for strict memory safety.

let common: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .treatAllWarnings(as: .error),
]
let pure: [SwiftSetting] = common + [.strictMemorySafety()]

let package = Package(
  name: "ferry",
  products: [.executable(name: "ferry", targets: ["ferry"])],
  targets: [
    // 0: C libraries
    // Headers of libcurl4-openssl-dev; the library is loaded when first used, not linked.
    .target(name: "CCurl"),
    .systemLibrary(name: "CLinux"),
    .systemLibrary(
      name: "COpenSSL",
      pkgConfig: "libcrypto",
      providers: [.apt(["libssl-dev"])]
    ),
    .systemLibrary(
      name: "CSQLite",
      pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"])]
    ),
    .systemLibrary(
      name: "CYAML",
      pkgConfig: "yaml-0.1",
      providers: [.apt(["libyaml-dev"])]
    ),

    // 1: no ferry room below
    .target(name: "JSON", swiftSettings: common),
    .testTarget(name: "JSONTests", dependencies: ["JSON"], swiftSettings: common),

    .target(name: "Crypto", dependencies: ["COpenSSL"], swiftSettings: common),
    .testTarget(name: "CryptoTests", dependencies: ["Crypto"], swiftSettings: common),

    .target(name: "SQLite", dependencies: ["CSQLite"], swiftSettings: common),
    .testTarget(name: "SQLiteTests", dependencies: ["SQLite"], swiftSettings: common),

    // 2: vocabulary and protocol
    .target(name: "TransferModel", dependencies: ["JSON"], swiftSettings: pure),
    .testTarget(
      name: "TransferModelTests",
      dependencies: ["JSON", "TransferModel"],
      swiftSettings: common
    ),

    .target(name: "JSONRPC", dependencies: ["CLinux", "JSON"], swiftSettings: common),
    .testTarget(
      name: "JSONRPCTests",
      dependencies: ["JSONRPC", "JSON"],
      swiftSettings: common
    ),

    // 3: one job each
    .target(
      name: "Configuration",
      dependencies: ["CYAML", "JSON", "TransferModel"],
      swiftSettings: common
    ),
    .testTarget(
      name: "ConfigurationTests",
      dependencies: ["Configuration", "JSON", "TransferModel"],
      swiftSettings: common
    ),

    .target(
      name: "LocalFiles",
      dependencies: ["CLinux", "TransferModel"],
      swiftSettings: common
    ),
    .testTarget(
      name: "LocalFilesTests",
      dependencies: ["LocalFiles", "TransferModel"],
      swiftSettings: common
    ),

    .target(
      name: "Backends",
      dependencies: ["Crypto", "JSON", "TransferModel"],
      swiftSettings: pure
    ),
    .testTarget(
      name: "BackendsTests",
      dependencies: ["Backends", "TransferModel"],
      swiftSettings: common
    ),

    // 4: the remotes, what a killed process must know, and requests over HTTP
    .target(
      name: "S3Backend",
      dependencies: ["Backends", "Configuration", "Crypto", "JSON", "TransferModel"],
      swiftSettings: common
    ),
    .testTarget(
      name: "S3BackendTests",
      dependencies: [
        "Backends", "Configuration", "Crypto", "JSON", "S3Backend", "TransferModel",
      ],
      swiftSettings: common
    ),

    .target(
      name: "LocalStore",
      dependencies: ["CLinux", "JSON", "LocalFiles", "SQLite", "TransferModel"],
      swiftSettings: common
    ),
    .testTarget(
      name: "LocalStoreTests",
      dependencies: ["JSON", "LocalStore", "SQLite", "TransferModel"],
      swiftSettings: common
    ),

    .target(
      name: "Journal",
      dependencies: ["CLinux", "JSON", "LocalFiles", "SQLite", "TransferModel"],
      swiftSettings: common
    ),
    .testTarget(
      name: "JournalTests",
      dependencies: ["CLinux", "JSON", "Journal", "LocalFiles", "SQLite", "TransferModel"],
      swiftSettings: common
    ),

    .target(
      name: "HTTP",
      dependencies: ["CCurl", "CLinux", "LocalFiles", "TransferModel"],
      swiftSettings: common
    ),
    .testTarget(
      name: "HTTPTests",
      dependencies: ["HTTP", "TransferModel"],
      swiftSettings: common
    ),

    .target(
      name: "PubNubBackend",
      dependencies: ["Backends", "Configuration", "Crypto", "JSON", "TransferModel"],
      swiftSettings: pure
    ),
    .testTarget(
      name: "PubNubBackendTests",
      dependencies: [
        "Backends", "Configuration", "Crypto", "JSON", "PubNubBackend", "TransferModel",
      ],
      swiftSettings: common
    ),

    .target(
      name: "CometChatBackend",
      dependencies: ["Backends", "Configuration", "Crypto", "JSON", "TransferModel"],
      swiftSettings: pure
    ),
    .testTarget(
      name: "CometChatBackendTests",
      dependencies: [
        "Backends", "CometChatBackend", "Configuration", "Crypto", "JSON", "TransferModel",
      ],
      swiftSettings: common
    ),

    // 5: transfers
    .target(
      name: "TransferEngine",
      dependencies: [
        "Backends", "CometChatBackend", "Configuration", "Crypto", "HTTP", "JSON", "Journal",
        "LocalFiles", "LocalStore", "PubNubBackend", "S3Backend", "TransferModel",
      ],
      swiftSettings: common
    ),
    .testTarget(
      name: "TransferEngineTests",
      dependencies: [
        "Configuration", "Crypto", "JSON", "LocalFiles", "TransferEngine", "TransferModel",
      ],
      swiftSettings: common
    ),

    // 6: channels
    .target(
      name: "Sharing",
      dependencies: [
        "Backends", "Configuration", "Crypto", "JSON", "TransferEngine", "TransferModel",
      ],
      swiftSettings: common
    ),

    .testTarget(
      name: "SharingTests",
      dependencies: ["JSON", "Sharing", "TransferEngine", "TransferModel"],
      swiftSettings: common
    ),

    // 7: the protocol's methods
    .target(
      name: "SidecarServer",
      dependencies: [
        "Backends", "Configuration", "Crypto", "JSON", "JSONRPC", "LocalFiles", "Sharing",
        "TransferEngine", "TransferModel",
      ],
      swiftSettings: common
    ),
    .testTarget(
      name: "SidecarServerTests",
      dependencies: ["Configuration", "JSON", "JSONRPC", "SidecarServer", "TransferModel"],
      swiftSettings: common
    ),

    // 8: the executable
    .executableTarget(
      name: "ferry",
      dependencies: ["CLinux", "Configuration", "JSON", "JSONRPC", "SidecarServer"],
      swiftSettings: common
    ),
  ],
  swiftLanguageModes: [.v6]
)
