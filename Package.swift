// swift-tools-version: 6.2
import PackageDescription

/// One set of rules for every target: Swift 6 mode, the upcoming features, and no warnings.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let lifecycle = Target.Dependency.product(
    name: "ServiceLifecycle",
    package: "swift-service-lifecycle"
)
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")

let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nio = [nioCore, .product(name: "NIOPosix", package: "swift-nio")]
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let httpClient = Target.Dependency.product(
    name: "AsyncHTTPClient",
    package: "async-http-client"
)
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")

let package = Package(
    name: "poller",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
        .package(
            url: "https://github.com/swift-server/swift-service-lifecycle",
            from: "2.13.0"
        ),
    ],
    targets: [
        .systemLibrary(name: "CHiredis"),
        // Redis as async Swift: hiredis is the codec, SwiftNIO the socket.
        .target(
            name: "RedisClient",
            dependencies: ["CHiredis", logging, lifecycle, crypto] + nio + [nioSSL],
            swiftSettings: settings
        ),
        // A public library: Stripe's objects, client and webhook signatures.
        .target(
            name: "StripeAPI",
            dependencies: [httpClient, nioCore, nioHTTP1, crypto],
            swiftSettings: settings
        ),
        // Where the truth is: Stripe.
        .target(
            name: "PollerUpstreams",
            dependencies: ["Poller", "StripeAPI"],
            swiftSettings: settings
        ),
        // The seams over Redis: keys, scripts, records.
        .target(
            name: "PollerRedis",
            dependencies: ["Poller", "RedisClient", logging, nioCore],
            resources: [.embedInCode("Scripts")],
            swiftSettings: settings
        ),
        // The product without I/O: read this first.
        .target(
            name: "Poller",
            dependencies: [logging, metrics, lifecycle, crypto],
            swiftSettings: settings
        ),
    ]
)
