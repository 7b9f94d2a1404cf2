import Logging
import PollerAPI
import PollerChannels
import PollerDeliveries
import PollerGateway
import PollerIdentity
import PollerNet
import PollerOperations
import PollerQueue
import PollerRedis
import PollerTracing
import PollerWatches
import ServiceLifecycle

/// Delivery to customers.
extension Node {
    /// The channels of a node, shared by its notifier and the endpoint tests of its API.
    struct Channels {
        let all: [any DeliveryChannel]
        /// The services that close the channels.
        ///
        /// They start before the users of the channels.
        let services: [any Service]
        let inline: InlineSecrets
    }

    /// The limit for endpoints without a configured one.
    var endpointLimit: LaneLimit {
        LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: settings.endpointConcurrency)
    }

    /// Creates every configured channel.
    func channels() async throws -> Channels {
        let inline = try await cluster.secrets.inline(configured: settings.webhookSecret)
        let webhook = WebhookChannel(
            inline: inline,
            guarding: guarding,
            resolver: resolver,
            authorities: settings.authorities?.certificates ?? [],
            wallClock: WallClock.now
        )
        var channels: [any DeliveryChannel] = [
            webhook, RedisStreamChannel(client: cluster.client, layout: cluster.layout),
        ]
        var services: [any Service] = [webhook]
        if let mail = settings.mail {
            let tokens = try await unsubscribeTokens()
            let email = EmailChannel(
                relay: mail.relay,
                sender: mail.sender,
                branding: { [live] in live.now.branding },
                unsubscribeLinks: settings.publicURL.map {
                    UnsubscribeLinks(base: $0, tokens: tokens)
                },
                publicURL: settings.publicURL,
                templates: settings.templates,
                suppressions: suppressions,
                relayFailures: relayFailures,
                // The lease is longer by the time of a claim and a commit (`DeliveryChannel/timeout`).
                timeout: settings.deliveryLease - Settings.deliveryMargin,
                wallClock: WallClock.now
            )
            channels.append(email)
            services.append(email)
            services.append(
                SenderCheck(
                    relay: mail.relay,
                    sender: mail.sender,
                    branding: { [live] in live.now.branding },
                    failures: relayFailures,
                    clock: clock,
                    wallClock: WallClock.now,
                    logger: log("mail")
                )
            )
        }
        return Channels(all: channels, services: services, inline: inline)
    }

    /// Creates the delivery loop and its supporting services.
    func notifier(
        _ channels: Channels
    ) async throws -> (
        shared: [Heartbeat<ContinuousClock>.Loop], services: [any Service]
    ) {
        try await registerFirstEndpoints()
        let directory = EndpointDirectory(
            store: cluster.endpoints,
            operators: settings.operators,
            partition: cluster.deliveries.markingPosition(of:),
            logger: log("endpoints")
        )
        if settings.mail == nil, settings.operators.contains(where: { $0.scheme == "mailto" }) {
            log("endpoints").warning(
                "operators are notified by mail, but this notifier has no mail relay",
                metadata: ["remedy": "set POLLER_SMTP_URL and POLLER_MAIL_FROM"]
            )
        }
        let loop = LeaseWorker(
            name: "notifier",
            queue: cluster.deliveries,
            handler: DeliveryHandler(
                store: cluster.watches,
                directory: directory,
                deliveries: cluster.deliveries,
                channels: channels.all,
                audit: audit,
                slots: settings.deliveryConcurrency,
                tracer: traces?.tracer,
                logger: log("notifier")
            ),
            settings: LeaseWorkerSettings(
                owner: cluster.owner,
                concurrency: settings.deliveryConcurrency,
                lease: settings.deliveryLease,
                lane: endpointLimit,
                drainTimeout: settings.drainTimeout,
                patience: SlowRecipientLimiter.patience,
                roundsDueTimes: true
            ),
            clock: clock,
            logger: log("notifier")
        )
        loops.add(loop.drain)
        let fallbacks = FallbackSweep(
            watches: cluster.watches,
            deliveries: cluster.deliveries,
            directory: directory,
            channels: channels.all,
            suspects: suspects,
            clock: clock,
            logger: log("fallbacks")
        )
        let repair = MarkRepair(
            outbox: cluster.outbox,
            deliveries: cluster.deliveries,
            directory: directory,
            clock: clock,
            logger: log("marks")
        )
        let services: [any Service] = [
            EndpointSync(
                directory: directory,
                lanes: cluster.deliveries,
                deliveries: cluster.deliveries,
                file: { [live] in live.now.endpoints },
                clock: clock,
                logger: log("endpoints")
            ),
            DrainedLoop { await loop.run() },
            fallbacks,
            OutboxReader(
                outbox: cluster.outbox,
                deliveries: cluster.deliveries,
                directory: directory,
                orders: OrderService(cluster.orders),
                refunds: DuplicateRefunds(
                    accounts: { [live] in live.now.settings.refundingAccounts },
                    orders: OrderService(cluster.orders),
                    watches: cluster.watches
                ),
                suspects: suspects,
                owner: cluster.owner,
                clock: clock,
                logger: log("outbox")
            ),
            repair,
            Retention(
                outbox: cluster.outbox,
                watches: cluster.watches,
                deliveries: cluster.deliveries,
                spans: settings.retention,
                suspects: suspects,
                clock: clock,
                logger: log("retention")
            ),
        ]
        let partitions = cluster.deliveries.partitions
        let shared = [
            heartbeatLoop(loop, as: .notifier, partitions: partitions),
            Heartbeat<ContinuousClock>.Loop(
                role: Role.notifier.rawValue,
                partitions: partitions,
                inFlight: { 0 },
                assign: { assignment in
                    fallbacks.assign(assignment.owned)
                    repair.assign(assignment.owned)
                }
            ),
        ]
        return (shared, services)
    }

    /// Makes the registry match the endpoints of the configuration file.
    ///
    /// - Throws: ``EndpointsRefused`` after everything else was applied; or another error of the store.
    func registerEndpoints(_ configured: ConfiguredParts) async throws {
        guard let file = configured.endpoints else { return }
        var leftOut: [String] = []
        do throws(StoreError) {
            try await file.apply { change in
                guard !change.isLeftOut else {
                    leftOut.append(change.name ?? "\(change.id)")
                    return
                }
                log("endpoints").notice(
                    "endpoint of the configuration file",
                    metadata: [
                        "endpoint": "\(change.id)", "endpoint.name": "\(change.name ?? "")",
                        "change": "\(change.what)",
                    ]
                )
            }
        } catch {
            guard error == .full else { throw error }
            throw EndpointsRefused.storeFull
        }
        if !leftOut.isEmpty { throw EndpointsRefused.tooMany(leftOut) }
    }

    /// Makes the registry match at the start, as far as the store accepts it.
    ///
    /// Registered endpoints are served in any case. The others are tried again while the process runs
    /// (``ConfigurationReload``).
    private func registerFirstEndpoints() async throws {
        do {
            try await registerEndpoints(live.now)
        } catch let error as EndpointsRefused {
            live.endpointsWereRefused()
            log("endpoints").error(
                "endpoints of the file are not registered yet",
                metadata: ["error": "\(error)"]
            )
        }
    }
}

/// The reason why the store does not hold every endpoint of the configuration file.
enum EndpointsRefused: Error, CustomStringConvertible {
    case storeFull
    /// The registry has no room for the endpoints with these names.
    case tooMany([String])

    var description: String {
        switch self {
        case .storeFull: "the store is full: give Redis more memory (maxmemory)"
        case .tooMany(let names):
            "the limit of endpoints is reached, and \(names.joined(separator: ", ")) not "
                + "registered: remove unused endpoints"
        }
    }
}

/// Email preferences of customers.
extension Node {
    /// The addresses that receive no email.
    var suppressions: RedisSuppressionList {
        RedisSuppressionList(client: cluster.client, layout: cluster.layout)
    }

    /// The rejections of the mail relay.
    var relayFailures: RedisRelayFailures {
        RedisRelayFailures(client: cluster.client, layout: cluster.layout)
    }

    /// Returns the tokens for the unsubscribe links in emails.
    func unsubscribeTokens() async throws -> UnsubscribeTokens {
        UnsubscribeTokens(secret: try await cluster.secrets.mailRoot())
    }

    /// Accepts customers' preferences and the relay's reports.
    func mailPreferences() async throws -> MailPreferences {
        MailPreferences(suppressions: suppressions, tokens: try await unsubscribeTokens())
    }
}

/// Accepts at the gateway the same callers as the API: holders of its keys, or this machine while no key exists.
struct KeyAuthenticator: Authenticator {
    let keys: KeyRing

    var anonymous: Principal? { keys.isOpen == true ? OpenAuthenticator().anonymous : nil }

    var revoked: AsyncStream<String> { keys.revoked }

    func principal(token: String) async -> Principal? {
        guard case .known(let caller) = keys.find(token), caller.may(.readEvents) else {
            return nil
        }
        // Each key has its own name, because connections are limited per name.
        return Principal(
            name: caller.name,
            accounts: caller.accounts,
            validFor: caller.endsAt.map { $0 - WallClock.now() }
        )
    }
}
