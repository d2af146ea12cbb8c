// swift-tools-version: 6.2
import PackageDescription

// The rooms that read what strangers write, built for libFuzzer by scripts/fuzz, which lays this
// file beside links to Sources and Tests/Fuzz.

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

func room(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(
    name: name,
    dependencies: dependencies,
    path: "Sources/\(name)",
    swiftSettings: settings
  )
}

func fuzz(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: name,
    dependencies: dependencies,
    path: "Fuzz/\(name)",
    swiftSettings: settings
  )
}

let package = Package(
  name: "ferry-fuzz",
  targets: [
    .systemLibrary(name: "CLinux", path: "Sources/CLinux"),
    .systemLibrary(name: "CYAML", path: "Sources/CYAML", pkgConfig: "yaml-0.1"),
    room("JSON"),
    room("TransferModel", ["JSON"]),
    room("JSONRPC", ["CLinux", "JSON"]),
    room("Configuration", ["CYAML", "JSON", "TransferModel"]),
    fuzz("FuzzLines", ["JSON", "JSONRPC"]),
    fuzz("FuzzConfiguration", ["Configuration", "JSON"]),
  ],
  swiftLanguageModes: [.v6]
)
