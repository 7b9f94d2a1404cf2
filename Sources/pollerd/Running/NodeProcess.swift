import ChildPrograms
import Foundation
import Logging
import Metrics
import PollerAPI
import PollerNet
import PollerOperations
import PollerRedis
import ProgramOutput
import RedisClient
import ServiceLifecycle
import UnixSignals

/// The life of a pollerd process: its preparation, its services, and its end.
///
/// The first SIGTERM or SIGINT drains. A second one ends the process at once, and its leases expire.
///
/// The order is fixed. The configuration and the availability of its ports are checked before anything else happens.
/// Signals are handled before anything starts that would have to be ended. The embedded programs, the connection and
/// the cluster's layout follow. The services start last, because other processes rely on this one from then on. The end
/// runs in reverse.
///
/// *Exit status* (64, 70 and 78 as in sysexits.h):
/// - 0: drained, or ended before the services ran.
/// - 1: ended by a second signal or an error.
/// - 64: usage.
/// - 70: an embedded program has ended.
/// - 78: an unusable configuration.
struct NodeProcess {
    let roles: Set<Role>
    let source: ConfigurationSource
    /// Whether to run an embedded redis-server, and a sandbox unless there is a Stripe key.
    let isEmbedded: Bool
    let dataFolder: String?

    /// Runs until a signal, or until an essential part fails.
    func run() async throws {
        let reading = source.read()
        let marks = FileMarks(of: reading.files)
        let configuration = try reading.configuration.get()
        var settings = try Settings(configuration)
        let roles = try servedRoles(settings)
        let obstacle = ListenError.obstacle(to: listeners(settings, roles))
        if let obstacle { throw obstacle }
        let logger = bootstrap(settings)
        logger.notice(
            "pollerd starts",
            metadata: [
                "version": "\(Release.version)",
                "roles": "\(roles.map(\.rawValue).sorted().joined(separator: ","))",
            ]
        )
        let announcer = settings.announcer
        let metrics = PrometheusRegistry(logger: logger)
        MetricsSystem.bootstrap(metrics)
        metrics.beginCounters()
        observeLog(settings)
        Gauge(
            label: "poller_build_info",
            dimensions: [
                ("version", Release.version),
                ("roles", roles.map(\.rawValue).sorted().joined(separator: ",")),
            ]
        ).record(1)
        for name in configuration.unknown {
            logger.warning("unknown option ignored", metadata: ["option": "\(name)"])
        }
        for warning in configuration.warnings {
            logger.warning("a secret is visible to others", metadata: ["reason": "\(warning)"])
        }

        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        // From here on SIGHUP requests a reload, even while the rest starts.
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        let otherStripe = settings.namesOfOtherStripe
        let embedded =
            isEmbedded
            ? try EmbeddedPrograms(dataFolder: dataFolder, withSandbox: otherStripe.isEmpty) : nil
        if isEmbedded, !otherStripe.isEmpty { announcer.reportNoSandbox(because: otherStripe) }
        defer { embedded?.stop() }
        let shutdown = Shutdown(embedded: embedded, announcer: announcer, logger: logger)
        let listeners = OwnListeners()
        try await withThrowingTaskGroup(of: Void.self) { group in
            // Handled from the beginning, because a signal during the start must end it too.
            group.addTask { await shutdown.listen(to: signals) }
            if let embedded {
                announcer.embeddedRedis(embedded.redis)
                group.addTask { await watch(embedded, logger) }
            }
            // The sandbox reports its port once, on a pipe.
            let port = try embedded?.sandbox?.port()
            if let port {
                announcer.listening("sandbox", at: "http://127.0.0.1:\(port)")
                announcer.variable("SANDBOX", "http://127.0.0.1:\(port)")
                listeners.add(host: "127.0.0.1", port: port)
            }
            let adapt = try Self.adaptation(to: embedded, sandbox: port)
            try adapt(&settings)
            if roles.contains(.worker), settings.stripeKeys.isEmpty {
                logger.warning(
                    "no Stripe key: Stripe objects are accepted but not polled",
                    metadata: ["remedy": "set STRIPE_API_KEY, or accounts in the configuration"]
                )
            }
            let client = RedisClient(
                url: settings.redisURL,
                configuration: settings.redis,
                logger: logger,
                onConnect: { listeners.add(store: $0) }
            )
            group.addTask {
                do {
                    try await client.run()
                } catch {
                    // Only unusable TLS files end the client. Retrying cannot fix them.
                    logger.critical("Redis client unusable", metadata: ["error": "\(error)"])
                    embedded?.stop()
                    LogOutput.standardError.flush()
                    _exit(78)
                }
            }
            let cluster = try await Cluster.join(
                client,
                namespace: settings.namespace,
                partitions: settings.partitions,
                durability: settings.durability,
                search: settings.searchKeys,
                masterKeys: settings.masterKeys,
                logger: logger
            )
            try await cluster.secrets.prepare()
            #if DEBUG
            // Lets end-to-end tests verify that an entry which ends its reader is set aside.
            FailPoint.activate(ProcessInfo.processInfo.environment["POLLER_PLANTED_TRAP"])
            #endif
            let node = Node(
                roles: roles,
                settings: settings,
                cluster: cluster,
                listeners: listeners,
                metrics: metrics,
                logger: logger
            )
            let feed = ConfigurationFeed(
                source: source,
                configuration: configuration,
                files: reading.files,
                marks: marks,
                hangups: hangups,
                adapt: adapt
            )
            try await serve(node, feed, settings, shutdown, logger)
            group.cancelAll()
        }
    }

    /// Adapts settings to the embedded programs.
    ///
    /// Without them it changes nothing.
    private static func adaptation(
        to embedded: EmbeddedPrograms?,
        sandbox port: Int?
    ) throws -> ConfigurationFeed.Adaptation {
        guard let embedded else { return { _ in } }
        let redisURL = try RedisURL(embedded.redis.url)
        // On a laptop the recipients are on the same machine.
        let local = try ["127.0.0.0/8", "::1/128"].map(AddressRange.init)
        return { settings throws(ConfigurationError) in
            settings.redisURL = redisURL
            if settings.allowedRanges.isEmpty { settings.allowedRanges = local }
            guard let port else { return }
            settings.stripeAPIKey = "sk_test_embedded"
            settings.stripeAPIBase = "http://127.0.0.1:\(port)"
            // The configuration file may have keys of further accounts.
            try settings.checkKeys()
        }
    }

    /// The addresses on which the roles listen.
    private func listeners(
        _ settings: Settings,
        _ roles: Set<Role>
    ) -> [(option: String, address: ListenAddress)] {
        var listenAddresses: [(option: String, address: ListenAddress)] = []
        if roles.contains(.api) { listenAddresses.append(("api-bind", settings.apiBind)) }
        if roles.contains(.gateway), let bind = settings.gatewayBind {
            listenAddresses.append(("gateway-bind", bind))
        }
        return listenAddresses + [("admin-bind", settings.adminBind)]
    }

    /// Returns the roles, without the gateway if it is off.
    private func servedRoles(_ settings: Settings) throws(ConfigurationError) -> Set<Role> {
        guard settings.gatewayBind == nil else { return roles }
        guard roles != [.gateway] else {
            throw ConfigurationError(
                "POLLER_GATEWAY_BIND=off, but this process is a gateway: set it to HOST:PORT"
            )
        }
        return roles.subtracting([.gateway])
    }

    /// Runs the node's services until a signal has drained them.
    private func serve(
        _ node: Node,
        _ feed: ConfigurationFeed,
        _ settings: Settings,
        _ shutdown: Shutdown,
        _ logger: Logger
    ) async throws {
        var group = ServiceGroupConfiguration(
            services: try await node.services(following: feed).map { service in
                // The name of its type. Without a name, the group prints the service with all its content. That takes
                // longer than the rest of the start and would write the keys of accounts to the log.
                .init(service: service, serviceName: "\(type(of: service))")
            },
            logger: logger
        )
        // The loops observe the drain timeout themselves. This limit is for other services.
        group.maximumGracefulShutdownDuration = settings.drainTimeout + .seconds(5)
        group.maximumCancellationDuration = .seconds(5)
        let services = ServiceGroup(configuration: group)
        shutdown.drains(services, loops: node.loops)
        try await services.run()
        logger.notice("drained")
    }

    /// Ends this process if an embedded program has ended, because nothing works without it.
    private func watch(_ embedded: EmbeddedPrograms, _ logger: Logger) async {
        while !Task.isCancelled {
            // Cancelled: the loop's condition ends it.
            try? await Task.sleep(for: .milliseconds(500))
            if !Task.isCancelled, let name = embedded.dead {
                logger.critical("the embedded \(name) has ended; restart pollerd")
                embedded.stop()
                LogOutput.standardError.flush()
                _exit(70)  // EX_SOFTWARE of sysexits.h
            }
        }
    }

    private func bootstrap(_ settings: Settings) -> Logger {
        let (format, level) = (settings.logFormat, settings.logLevel)
        LoggingSystem.bootstrap { label in
            LineLogHandler(label: label, format: format, level: level)
        }
        return Logger(label: "pollerd")
    }

    /// Counts log lines that could not be written, and logs the count once writing works again.
    private func observeLog(_ settings: Settings) {
        let counters = Dictionary(
            uniqueKeysWithValues: LogOutput.DropReason.allCases.map { reason in
                let dimensions = [("reason", reason.rawValue)]
                return (
                    reason,
                    Counter(label: "poller_log_lines_dropped_total", dimensions: dimensions)
                )
            }
        )
        let handler = LineLogHandler(
            label: "pollerd",
            format: settings.logFormat,
            level: settings.logLevel
        )
        LogOutput.standardError.observe(
            onDrop: { reason, count in counters[reason]?.increment(by: count) },
            report: { count in
                handler.line(
                    .error,
                    "log lines dropped because the log's reader stalled or its disk was full",
                    ["count": "\(count)"]
                )
            }
        )
    }
}

/// The programs that `--embedded` runs.
struct EmbeddedPrograms: Sendable {
    let redis: EmbeddedRedis
    /// The sandbox, or `nil` if a key or an address selects another Stripe.
    let sandbox: EmbeddedSandbox?

    /// Starts both and returns when Redis accepts connections.
    ///
    /// The sandbox starts meanwhile.
    init(dataFolder: String?, withSandbox: Bool) throws {
        sandbox =
            withSandbox
            ? try EmbeddedSandbox(otherwise: ", or set STRIPE_API_KEY to do without it") : nil
        redis = try EmbeddedRedis(dataFolder: dataFolder)
    }

    /// The name of a program that ended unexpectedly.
    var dead: String? {
        if redis.hasDied { return "redis-server" }
        return sandbox?.hasDied == true ? "stripe-sandbox" : nil
    }

    /// Stops both.
    ///
    /// A second call is harmless.
    func stop() {
        sandbox?.stop()
        redis.stop()
    }
}
