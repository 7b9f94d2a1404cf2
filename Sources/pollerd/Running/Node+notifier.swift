import Logging
import Poller
import PollerAPI
import PollerDelivery
import PollerGateway
import PollerIdentity
import PollerNet
import PollerQueue
import PollerRedis
import PollerTracing
import ServiceLifecycle

/// How customers are told.
extension Node {
    /// The channels of a node, which its notifier and the tests of its API share.
    struct Channels {
        let all: [any DeliveryChannel]
        /// What closes them, to be listed before whoever uses them.
        let services: [any Service]
        let inline: InlineSecrets
    }

    /// What holds for endpoints without a limit of their own.
    var endpointLimit: LaneLimit {
        LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: settings.endpointConcurrency)
    }

    /// Every channel that is configured.
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
                relayTroubles: relayTroubles,
                // The lease is longer by as much as a claim and a commit may take (`DeliveryChannel/timeout`).
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
                    troubles: relayTroubles,
                    clock: clock,
                    wallClock: WallClock.now,
                    logger: log("mail")
                )
            )
        }
        return Channels(all: channels, services: services, inline: inline)
    }

    /// The loop of deliveries and what works beside it.
    func notifier(
        _ channels: Channels
    ) async throws -> (
        shared: [Heartbeat<ContinuousClock>.Loop], services: [any Service]
    ) {
        try await registerEndpoints(live.now)
        let directory = EndpointDirectory(
            store: cluster.endpoints,
            operators: settings.operators,
            partition: cluster.deliveries.place(of:),
            logger: log("endpoints")
        )
        if settings.mail == nil, settings.operators.contains(where: { $0.scheme == "mailto" }) {
            log("endpoints").warning(
                "operators are to be told by mail, and this notifier has no relay",
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
                places: settings.deliveryConcurrency,
                tracer: traces?.tracer,
                logger: log("notifier")
            ),
            settings: LeaseWorkerSettings(
                owner: cluster.owner,
                concurrency: settings.deliveryConcurrency,
                lease: settings.deliveryLease,
                lane: endpointLimit,
                drainTimeout: settings.drainTimeout,
                patience: SlowReceivers.patience
            ),
            clock: clock,
            logger: log("notifier")
        )
        loops.add(loop.drain)
        let fallbacks = FallbackSweep(
            watches: cluster.watches,
            deliveries: cluster.deliveries,
            directory: directory,
            suspects: suspects,
            clock: clock,
            logger: log("fallbacks")
        )
        let repair = MarkRepair(
            outbox: cluster.watches,
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
                outbox: cluster.watches,
                deliveries: cluster.deliveries,
                directory: directory,
                orders: OrderBook(cluster.watches),
                refunds: DuplicateRefunds(
                    accounts: { [live] in live.now.settings.refundingAccounts },
                    orders: OrderBook(cluster.watches),
                    watches: cluster.watches
                ),
                suspects: suspects,
                owner: cluster.owner,
                clock: clock,
                logger: log("outbox")
            ),
            repair,
            Retention(
                outbox: cluster.watches,
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
            share(loop, as: .notifier, partitions: partitions),
            Heartbeat<ContinuousClock>.Loop(
                role: Role.notifier.rawValue,
                partitions: partitions,
                inFlight: { 0 },
                share: { share in
                    fallbacks.own(share.owned)
                    repair.own(share.owned)
                }
            ),
        ]
        return (shared, services)
    }

    /// Makes the registry agree with the endpoints of the configuration file.
    func registerEndpoints(_ configured: Configured) async throws {
        guard let file = configured.endpoints else { return }
        do {
            try await file.apply { change in
                guard !change.isLeftOut else {
                    log("endpoints").error(
                        "an endpoint of the configuration file is told nothing: there are too many",
                        metadata: [
                            "endpoint": "\(change.id)", "endpoint.name": "\(change.name ?? "")",
                            "hint": "remove those nobody needs; it is made once there is room",
                        ]
                    )
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
        } catch StoreError.full {
            // Those that are registered already are told; the sync brings the others in.
            log("endpoints").error(
                "the store is full: changes of the file's endpoints wait for the next start",
                metadata: ["hint": "give Redis more memory (maxmemory)"]
            )
        }
    }
}

/// What customers see of us, and what they want.
extension Node {
    /// Who is sent no mail.
    var suppressions: RedisSuppressionList {
        RedisSuppressionList(client: cluster.client, layout: cluster.layout)
    }

    /// What the mail relay refuses.
    var relayTroubles: RedisRelayTroubles {
        RedisRelayTroubles(client: cluster.client, layout: cluster.layout)
    }

    /// The tokens of the links in our mails.
    func unsubscribeTokens() async throws -> UnsubscribeTokens {
        UnsubscribeTokens(secret: try await cluster.secrets.mailRoot())
    }

    /// Takes customers' wishes and the relay's reports in.
    func mailPreferences() async throws -> MailPreferences {
        MailPreferences(suppressions: suppressions, tokens: try await unsubscribeTokens())
    }
}

/// Lets into the gateway whom the API lets in: the holders of its keys, and this machine while there
/// are none.
struct KeyAuthenticator: Authenticator {
    let keys: KeyRing

    var anonymous: Principal? { keys.isOpen == true ? OpenAuthenticator().anonymous : nil }

    var revoked: AsyncStream<String> { keys.revoked }

    func principal(token: String) async -> Principal? {
        guard case .known(let caller) = keys.find(token), caller.may(.readEvents) else {
            return nil
        }
        // Each by its own name, because each has its own places.
        return Principal(
            name: caller.name,
            accounts: caller.accounts,
            validFor: caller.endsAt.map { $0 - WallClock.now() }
        )
    }
}
