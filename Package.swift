// swift-tools-version: 6.2
import PackageDescription

/// The settings of every target: Swift 6 mode, upcoming features, and warnings as errors.
let rules: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]
let settings = rules + [.enableUpcomingFeature("InternalImportsByDefault")]
/// For the queue: in release builds the caller of a public generic function compiles a copy for its own types.
///
/// `LeaseWorker` needs it for watches and deliveries, which the queue does not know. The compiler copies no
/// function that uses a module imported as internal or `package`, so imports are public here.
let specialised =
    rules + [.unsafeFlags(["-cross-module-optimization"], .when(configuration: .release))]
/// For targets that scan bytes: debug builds optimise them, too, because the tests spend most time there.
///
/// Without it they take five times as long. SwiftPM before 6.3 may refuse such flags in a package that it has checked
/// out for another one.
let scanning =
    settings
    + (Context.packageDirectory.contains("/checkouts/")
        ? [] : [.unsafeFlags(["-O"], .when(configuration: .debug))])

/// For the program of a release: no table of our own symbols, and compact relocations if the environment has
/// `COMPACT_RELOCATIONS=1`.
///
/// Each process takes 4 MB less memory, and another 6 MB less with compact relocations. They need glibc 2.36 where the
/// program runs.
let compact: [LinkerSetting] = [
    .unsafeFlags(
        ["-Xlinker", "--no-export-dynamic"]
            + (Context.environment["COMPACT_RELOCATIONS"] == "1"
                ? ["-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs"] : []),
        .when(platforms: [.linux], configuration: .release)
    )
]

// Products of other packages, by the names that the targets below use.
typealias Other = Target.Dependency
let logging = Other.product(name: "Logging", package: "swift-log")
let metrics = Other.product(name: "Metrics", package: "swift-metrics")
let lifecycle = Other.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let signals = Other.product(name: "UnixSignals", package: "swift-service-lifecycle")
let crypto = Other.product(name: "Crypto", package: "swift-crypto")
let nioCore = Other.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Other.product(name: "NIOPosix", package: "swift-nio")
let nioHTTP1 = Other.product(name: "NIOHTTP1", package: "swift-nio")
let nioWebSocket = Other.product(name: "NIOWebSocket", package: "swift-nio")
let nioTLS = Other.product(name: "NIOTLS", package: "swift-nio")
let nioEmbedded = Other.product(name: "NIOEmbedded", package: "swift-nio")
let nioSSL = Other.product(name: "NIOSSL", package: "swift-nio-ssl")
let httpClient = Other.product(name: "AsyncHTTPClient", package: "async-http-client")
let hummingbird = Other.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore = Other.product(name: "HummingbirdCore", package: "hummingbird")
let arguments = Other.product(name: "ArgumentParser", package: "swift-argument-parser")
let mustache = Other.product(name: "Mustache", package: "swift-mustache")
let deque = Other.product(name: "DequeModule", package: "swift-collections")
let yams = Other.product(name: "Yams", package: "Yams")
let histogram = Other.product(name: "Histogram", package: "hdrhistogram-swift")

let package = Package(
    name: "poller",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "StripeAPI", targets: ["StripeAPI"]),
        .library(name: "PollerWire", targets: ["PollerWire"]),
        .library(name: "PollerClient", targets: ["PollerClient"]),
        .executable(name: "pollerd", targets: ["pollerd-program"]),
        .executable(name: "pollerd-bench", targets: ["pollerd-bench"]),
        .executable(name: "pollerctl", targets: ["pollerctl-program"]),
        .executable(name: "stripe-sandbox", targets: ["stripe-sandbox-program"]),
        .executable(name: "poller", targets: ["poller-program"]),
    ],
    // Exact versions, so that a build equals the tested one. ops/dependencies.txt has those of all packages.
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", exact: "2.1.1"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", exact: "0.2.0"),
    ],
    targets: [
        // Compiles text files into the program: scripts, pages, translations.
        .plugin(name: "EmbeddedTexts", capability: .buildTool(), path: "Sources/EmbeddedTexts"),
        // Conversions of external whole numbers that never trap.
        .target(name: "SafeNumbers", swiftSettings: scanning),
        // JSON as bytes: one scanner, one writer.
        .target(name: "JSONText", dependencies: ["SafeNumbers"], swiftSettings: scanning),
        // A public library with every JSON object of the API, webhooks and streams, defined once.
        .target(
            name: "PollerWire",
            dependencies: ["SafeNumbers", "JSONText"],
            swiftSettings: settings
        ),
        // The format and signature of webhook requests.
        .target(
            name: "StandardWebhooks",
            dependencies: ["SafeNumbers", crypto],
            swiftSettings: settings
        ),
        // Identifiers and values that every target above the wire format uses: accounts, sources, endpoints, times.
        .target(
            name: "PollerIdentity",
            dependencies: ["SafeNumbers", "PollerWire", crypto],
            swiftSettings: settings
        ),
        // The queue: lanes, leases and the loop that claims, handles and commits. It knows no watch and no delivery.
        .target(
            name: "PollerQueue",
            dependencies: ["SafeNumbers", "PollerIdentity", logging, metrics, lifecycle],
            swiftSettings: specialised
        ),
        // The product without I/O, in layers. Each target may use only the targets above it in this file.
        // Services that every layer uses: access, the audit trail, quarantine, traces, activity.
        .target(
            name: "PollerOperations",
            dependencies: [
                "SafeNumbers", "JSONText", "PollerWire", "PollerIdentity", "PollerQueue",
                logging, metrics, lifecycle, crypto,
            ],
            swiftSettings: settings
        ),
        // The values of a payment: state, method, facts, next step, charge.
        .target(
            name: "PollerPayments",
            dependencies: ["SafeNumbers", "JSONText", "PollerWire", "PollerIdentity"],
            swiftSettings: settings
        ),
        // Watches, events and orders as they are stored, the stores' protocols, and the search.
        .target(
            name: "PollerWatches",
            dependencies: [
                "SafeNumbers", "JSONText", "PollerWire", "PollerIdentity", "PollerQueue",
                "PollerOperations", "PollerPayments", logging, crypto,
            ],
            swiftSettings: settings
        ),
        // The way of an event to its recipients: outbox, endpoints, deliveries, live feed. It does not know polling.
        .target(
            name: "PollerDeliveries",
            dependencies: [
                "SafeNumbers", "JSONText", "PollerWire", "PollerIdentity", "PollerQueue",
                "PollerOperations", "PollerWatches", "StandardWebhooks",
                logging, metrics, lifecycle, crypto,
            ],
            swiftSettings: settings
        ),
        // Polling: the upstream, the decision, and the actions on a payment. It does not know delivery. Read this first.
        .target(
            name: "Poller",
            dependencies: [
                "SafeNumbers", "JSONText", "PollerIdentity", "PollerQueue", "PollerOperations",
                "PollerPayments", "PollerWatches", logging, metrics,
            ],
            swiftSettings: settings
        ),
        // Hints that a watch has changed: webhooks of the upstream, the event sweep, and its share of the read budget.
        .target(
            name: "PollerHints",
            dependencies: [
                "SafeNumbers", "JSONText", "PollerIdentity", "PollerQueue", "PollerOperations",
                "PollerPayments", "PollerWatches", "Poller", logging, metrics, lifecycle,
            ],
            swiftSettings: settings
        ),
        // Incidents of the cluster.
        .target(
            name: "PollerIncidents",
            dependencies: [
                "SafeNumbers", "JSONText", "PollerWire", "PollerIdentity", "PollerQueue",
                "PollerPayments", "PollerWatches", logging, lifecycle,
            ],
            swiftSettings: settings
        ),
        // Forecasts of polls, reads and memory for a planned load.
        .target(
            name: "PollerPlanning",
            dependencies: [
                "SafeNumbers", "PollerIdentity", "PollerQueue", "PollerPayments", "PollerWatches",
                "Poller", "PollerHints",
            ],
            swiftSettings: settings
        ),

        // Descriptions of TLS errors for people.
        .target(name: "TLSErrorText", dependencies: [nioSSL], swiftSettings: settings),

        // An async Redis client: hiredis is the codec, SwiftNIO the transport.
        .systemLibrary(name: "CHiredis"),
        .systemLibrary(name: "CZlib"),
        .systemLibrary(name: "CZstd"),
        .target(
            name: "RedisClient",
            dependencies: [
                "SafeNumbers", "TLSErrorText",
                "CHiredis", logging, lifecycle, crypto, nioCore, nioPosix, nioSSL, deque,
            ],
            swiftSettings: settings
        ),
        // The stores on Redis: keys, scripts, records.
        .target(
            name: "PollerRedis",
            dependencies: [
                "SafeNumbers", "CZstd", "JSONText", "PollerOperations", "PollerPayments",
                "PollerWatches", "PollerDeliveries", "Poller", "PollerHints", "PollerIncidents",
                "PollerQueue", "PollerIdentity",
                "RedisClient",
                logging, nioCore,
            ],
            swiftSettings: settings,
            plugins: ["EmbeddedTexts"]
        ),

        // A public library: Stripe's objects, client and webhook signatures.
        .target(
            name: "StripeAPI",
            dependencies: [
                "SafeNumbers", "JSONText", httpClient, nioCore, nioHTTP1, nioPosix, crypto,
            ],
            path: "Sources/Stripe/StripeAPI",
            swiftSettings: settings
        ),
        // An HTTP/1.1 client for large numbers of requests, with a pool per origin and event loop, and the limits of
        // listeners.
        .target(
            name: "PollerHTTP",
            dependencies: [
                "SafeNumbers", "TLSErrorText", nioCore, nioPosix, nioHTTP1, nioSSL, nioTLS,
            ],
            swiftSettings: settings
        ),
        // Secrets in files, for every program.
        .target(name: "SecretFiles", swiftSettings: settings),
        // Rules for outbound addresses, HTTP clients that obey them, and limits for inbound connections.
        .target(
            name: "PollerNet",
            dependencies: [
                "SafeNumbers", "PollerQueue", "PollerIdentity", "PollerHTTP",
                nioCore, nioPosix, nioHTTP1, nioSSL, logging, metrics, lifecycle,
            ],
            swiftSettings: settings
        ),
        // The upstreams: Stripe, and any URL that returns JSON.
        .target(
            name: "PollerUpstreams",
            dependencies: [
                "SafeNumbers", "CZlib",
                "JSONText", "PollerOperations", "PollerPayments", "PollerWatches",
                "PollerDeliveries", "Poller", "PollerHints", "PollerQueue", "PollerIdentity",
                "PollerHTTP", "PollerNet",
                "PollerWire",
                "StripeAPI", nioCore,
                nioHTTP1, nioSSL, logging, metrics, lifecycle,
            ],
            swiftSettings: settings
        ),

        // The texts for payers in their languages, for pages and emails.
        .target(
            name: "PollerLocalization",
            dependencies: [
                "SafeNumbers", "JSONText", "PollerPayments", "PollerWatches", "PollerIdentity",
                "PollerWire",
            ],
            swiftSettings: settings,
            plugins: ["EmbeddedTexts"]
        ),
        // The delivery channels: webhook and email.
        .systemLibrary(name: "CCurl"),
        .target(
            name: "PollerChannels",
            dependencies: [
                "SafeNumbers",
                "JSONText", "PollerOperations", "PollerPayments", "PollerWatches",
                "PollerDeliveries", "Poller", "PollerIncidents", "PollerQueue", "PollerIdentity",
                "PollerNet", "PollerLocalization",
                "StandardWebhooks", "CCurl",
                nioCore, nioPosix, nioHTTP1, nioSSL, lifecycle, mustache,
            ],
            swiftSettings: settings,
            plugins: ["EmbeddedTexts"]
        ),
        // Publication to live clients: WebSocket and event streams.
        .target(
            name: "PollerGateway",
            dependencies: [
                "SafeNumbers",
                "JSONText", "PollerOperations", "PollerPayments", "PollerWatches",
                "PollerDeliveries", "PollerQueue", "PollerIdentity", "PollerHTTP", "PollerNet",
                "PollerWire",
                nioCore, nioPosix,
                nioHTTP1, nioWebSocket, logging, metrics, lifecycle, crypto, hummingbirdCore,
                deque,
            ],
            swiftSettings: settings
        ),
        // Spans of the handlers' work, for an OpenTelemetry collector.
        .target(
            name: "PollerTracing",
            dependencies: [
                "SafeNumbers",
                "PollerOperations", "PollerIdentity", httpClient, nioCore, nioHTTP1,
                logging,
                metrics, lifecycle,
                deque,
            ],
            swiftSettings: settings
        ),
        // The HTTP API and the admin listener.
        .target(
            name: "PollerAPI",
            dependencies: [
                "SafeNumbers",
                "JSONText", "PollerWire", "PollerOperations", "PollerPayments", "PollerWatches",
                "PollerDeliveries", "Poller", "PollerHints", "PollerIncidents", "PollerQueue",
                "PollerIdentity", "PollerHTTP",
                "PollerNet",
                "PollerLocalization",
                "SecretFiles", "StandardWebhooks", "StripeAPI", hummingbird, hummingbirdCore,
                nioCore,
                nioHTTP1, nioPosix, logging, metrics,
                lifecycle, crypto,
            ],
            swiftSettings: settings,
            plugins: ["EmbeddedTexts"]
        ),
        // A public library for services that use the cluster.
        .target(
            name: "PollerClient",
            dependencies: [
                "SafeNumbers", "TLSErrorText",
                "JSONText", "PollerWire", httpClient, nioCore, nioHTTP1, nioPosix, nioSSL,
            ],
            swiftSettings: settings
        ),

        // A stateful imitation of Stripe for running everything offline.
        .target(
            name: "StripeSandbox",
            dependencies: [
                "SafeNumbers",
                "JSONText", "PollerHTTP", "StripeAPI", nioCore, nioHTTP1, nioPosix, logging,
                lifecycle, crypto, httpClient, hummingbird, hummingbirdCore,
            ],
            path: "Sources/Stripe/StripeSandbox",
            swiftSettings: settings
        ),

        // Standard output, standard error and the log, written without traps.
        .target(name: "ProgramOutput", dependencies: [arguments], swiftSettings: settings),
        // Child programs: redis-server and stripe-sandbox, for --embedded and bench.
        .target(name: "ChildPrograms", swiftSettings: settings),
        // The options of `pollerd bench`, validated by pollerd and used by pollerd-bench.
        .target(name: "BenchPlan", dependencies: [arguments], swiftSettings: settings),

        // The programs. Only pollerd wires targets together. Each is a library, so that one executable can contain all
        // of them.
        .target(
            name: "pollerd",
            dependencies: [
                "ProgramOutput",
                "SafeNumbers",
                "JSONText", "PollerOperations", "PollerPayments", "PollerWatches",
                "PollerDeliveries", "Poller", "PollerHints", "PollerIncidents", "PollerPlanning",
                "PollerQueue", "PollerIdentity", "PollerRedis",
                "PollerUpstreams",
                "PollerChannels",
                "PollerGateway", "PollerAPI", "PollerNet", "PollerTracing", "PollerWire",
                "BenchPlan", "ChildPrograms", "RedisClient", "SecretFiles", "StripeAPI", logging,
                metrics, lifecycle, signals, arguments, nioCore,
                yams,
            ],
            swiftSettings: settings
        ),
        // The program behind `pollerd bench`. It is separate, so that pollerd does not contain it.
        .executableTarget(
            name: "pollerd-bench",
            dependencies: [
                "ProgramOutput",
                "BenchPlan", "ChildPrograms", "JSONText", "PollerPayments", "PollerWatches",
                "PollerDeliveries", "Poller", "PollerQueue", "PollerIdentity",
                "PollerRedis",
                "PollerUpstreams", "PollerChannels", "PollerHTTP", "PollerNet", "RedisClient",
                "StripeAPI", arguments, logging, nioCore, nioHTTP1, nioPosix, nioSSL, nioWebSocket,
                httpClient, histogram,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "pollerctl",
            dependencies: [
                "ProgramOutput",
                "SafeNumbers",
                "JSONText", "PollerClient", "PollerWire", "SecretFiles", "StandardWebhooks",
                "StripeAPI", arguments, crypto, httpClient, nioCore, nioHTTP1, nioPosix,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "stripe-sandbox",
            dependencies: [
                "ProgramOutput", "SecretFiles", "StripeSandbox", signals, arguments, logging,
                lifecycle,
            ],
            path: "Sources/Stripe/stripe-sandbox",
            swiftSettings: settings
        ),

        // The executables: one per program, and `poller`, which acts as the program by whose name it is called.
        .executableTarget(
            name: "pollerd-program",
            dependencies: ["pollerd"],
            path: "Sources/Programs/pollerd",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "pollerctl-program",
            dependencies: ["pollerctl"],
            path: "Sources/Programs/pollerctl",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "stripe-sandbox-program",
            dependencies: ["stripe-sandbox"],
            path: "Sources/Programs/stripe-sandbox",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "poller-program",
            dependencies: ["ProgramOutput", "pollerd", "pollerctl", "stripe-sandbox"],
            path: "Sources/Programs/poller",
            swiftSettings: settings,
            linkerSettings: compact
        ),

        // The examples of the guide to PollerClient, compiled as its readers compile them: without this package's
        // settings.
        .executableTarget(
            name: "example-watch-payment",
            dependencies: ["PollerClient"],
            path: "Sources/Examples/WatchPayment"
        ),
        .executableTarget(
            name: "example-follow-events",
            dependencies: ["PollerClient"],
            path: "Sources/Examples/FollowEvents"
        ),
        .executableTarget(
            name: "example-register-endpoint",
            dependencies: ["PollerClient"],
            path: "Sources/Examples/RegisterEndpoint"
        ),

        // Test support: clocks, in-memory stores, scripted peers, simulations and Redis processes.
        .target(
            name: "PollerTesting",
            dependencies: [
                "SafeNumbers", "JSONText", "PollerOperations", "PollerPayments", "PollerWatches",
                "PollerDeliveries", "Poller", "PollerQueue", "PollerIdentity", "RedisClient",
                logging,
            ],
            path: "Tests/Kit",
            swiftSettings: settings
        ),
        .testTarget(
            name: "JSONTextTests",
            dependencies: ["SafeNumbers", "JSONText"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PollerTests",
            dependencies: [
                "SafeNumbers",
                "JSONText", "PollerOperations", "PollerPayments", "PollerWatches",
                "PollerDeliveries", "Poller", "PollerHints", "PollerIncidents", "PollerPlanning",
                "PollerQueue", "PollerIdentity", "PollerTesting",
                "PollerWire",
                "StandardWebhooks", logging,
                metrics, lifecycle, crypto,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RedisClientTests",
            dependencies: ["RedisClient", "PollerTesting", nioCore, nioPosix, logging, lifecycle],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PollerRedisTests",
            dependencies: [
                "SafeNumbers",
                "JSONText", "PollerOperations", "PollerPayments", "PollerWatches",
                "PollerDeliveries", "Poller", "PollerHints", "PollerIncidents", "PollerQueue",
                "PollerIdentity", "PollerRedis",
                "PollerTesting",
                "RedisClient", logging,
            ],
            exclude: ["Fixtures"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PollerUpstreamsTests",
            dependencies: [
                "SafeNumbers",
                "JSONText", "PollerOperations", "PollerPayments", "PollerWatches",
                "Poller", "PollerHints", "PollerQueue", "PollerIdentity",
                "PollerNet", "PollerRedis",
                "PollerTesting",
                "PollerUpstreams", "RedisClient", "StripeAPI", "StripeSandbox", httpClient, nioCore,
                nioPosix, nioHTTP1, logging,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "StripeAPITests",
            dependencies: ["JSONText", "SafeNumbers", "StripeAPI", nioCore, nioPosix],
            exclude: ["Fixtures"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "StripeSandboxTests",
            dependencies: [
                "StripeAPI", "StripeSandbox", httpClient, nioCore, nioPosix, nioHTTP1,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PollerHTTPTests",
            dependencies: [
                "PollerHTTP", "PollerTesting", nioCore, nioPosix, nioHTTP1, nioSSL, nioEmbedded,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PollerNetTests",
            dependencies: [
                "PollerIdentity", "PollerHTTP", "PollerNet", "PollerTesting", nioCore,
                nioEmbedded,
                nioHTTP1,
                logging,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PollerLocalizationTests",
            dependencies: [
                "SafeNumbers", "JSONText", "PollerPayments", "PollerWatches", "PollerIdentity",
                "PollerTesting",
                "PollerWire", "PollerLocalization",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PollerChannelsTests",
            dependencies: [
                "PollerOperations", "PollerPayments", "PollerWatches", "PollerDeliveries",
                "PollerIncidents", "PollerQueue", "PollerIdentity", "PollerChannels", "PollerNet",
                "PollerTesting",
                "PollerLocalization", nioCore,
                nioSSL,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PollerGatewayTests",
            dependencies: [
                "JSONText", "PollerOperations", "PollerPayments", "PollerWatches",
                "PollerDeliveries", "PollerIncidents", "PollerQueue", "PollerIdentity",
                "PollerGateway", "PollerNet",
                "PollerTesting", "PollerWire",
                nioCore, nioEmbedded, nioPosix, nioHTTP1, nioWebSocket, hummingbirdCore, logging,
                lifecycle, crypto,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HostileInputTests",
            dependencies: [
                "SafeNumbers",
                "JSONText", "PollerOperations", "PollerPayments", "PollerWatches",
                "PollerDeliveries", "Poller", "PollerHints", "PollerQueue", "PollerIdentity",
                "PollerAPI",
                "PollerChannels", "PollerNet",
                "PollerTesting",
                "PollerUpstreams", "PollerWire", "PollerLocalization", "StripeAPI", logging,
            ],
            exclude: ["Fixtures"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PollerTracingTests",
            dependencies: [
                "PollerOperations", "PollerIdentity", "PollerTesting", "PollerTracing", logging,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "pollerdTests",
            dependencies: [
                "PollerPayments", "PollerWatches", "PollerHints", "PollerQueue", "PollerIdentity",
                "PollerTesting", "ChildPrograms", "pollerd", arguments,
                yams,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ProgramOutputTests",
            dependencies: ["ProgramOutput"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PollerAPITests",
            dependencies: [
                "SafeNumbers",
                "JSONText", "PollerWire", "PollerOperations", "PollerPayments", "PollerWatches",
                "PollerDeliveries", "Poller", "PollerHints", "PollerIncidents", "PollerQueue",
                "PollerIdentity", "PollerAPI",
                "PollerGateway", "PollerClient",
                "PollerNet", "PollerRedis", "PollerTesting", "PollerLocalization", "RedisClient",
                "StripeAPI", "pollerctl", arguments, httpClient, nioCore,
                nioEmbedded, nioPosix, nioHTTP1, lifecycle, metrics, logging, crypto,
            ],
            swiftSettings: settings
        ),
    ]
)
