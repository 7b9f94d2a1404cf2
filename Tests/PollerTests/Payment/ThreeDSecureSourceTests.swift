import PollerIdentity
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerWatches

@Suite("Card payments that need authentication")
struct ThreeDSecureSourceTests {
    private let key = Sample.key("src_3ds", account: "default")
    private let secret = ClientSecret(unchecked: "src_client_secret_1")

    private func decide(_ secure: ThreeDSecureSource?) -> Decision<WatchChange> {
        let now = VirtualTime.start
        var reader = NamedObjects(known: [:])
        var facts = PaymentFacts(kind: .source)
        facts.status = .chargeable
        facts.usage = .reusable
        reader.known["card"] = facts
        let watch = Watch(
            Sample.key(),
            createdAt: now,
            deadline: now + .seconds(3600),
            seq: 3,
            charge: .whole,
            state: WatchState(status: .chargeable),
            payment: PaymentMemory(payment: "before")
        )
        var generator = SeededGenerator(seed: 7)
        return PollDecider().decide(
            PollContext(watch, at: now, payments: reader),
            .charged(
                Observation(status: .chargeable, final: false, object: NamedObjects.object("card")),
                .unauthenticated(secure)
            ),
            using: &generator
        )
    }

    @Test("a charge that needs authentication closes the watch with a link to the bank")
    func led() throws {
        let secure = ThreeDSecureSource(
            key: key,
            clientSecret: secret,
            needsRedirect: true,
            publicURL: "https://pay.example"
        )
        let decision = decide(secure)
        #expect(decision.verdict == .close(.reached) && decision.change.state.charge == .failed)
        let events = decision.change.events
        #expect(events.map(\.type) == ["payment.failed", "next_step.changed", "charge.failed"])
        let last = try #require(events.last)
        #expect(last.payment?.reason == .authenticationRequired)
        #expect(last.nextStep == secure.step && last.nextStep.name == "follow_link")
        #expect(last.nextStep.withoutSecrets == last.nextStep, "it may be told to anybody who asks")
        #expect(!last.json.contains(try #require(secret.reveal)))
    }

    @Test("the 3-D Secure source has all recipients of the card's watch")
    func recipients() async throws {
        let rig = WorkerRig()
        let card = Sample.key()
        let urls = try (0..<40).map { try NotifyURL("https://\($0).example/") }
        for part in [urls[..<16], urls[16..<32], urls[32...]] {
            _ = try await rig.store.enqueue([try NewWatch(key: card, notify: Array(part))])
        }
        let deliveries = MemoryDeliveryQueue(time: ClockTime(rig.clock))
        let tries = ThreeDSecureWatcher(
            watches: rig.store,
            enqueuer: Enqueuer(watches: rig.store, deliveries: deliveries)
        )
        let secure = ThreeDSecureSource(
            key: key,
            clientSecret: secret,
            needsRedirect: true,
            publicURL: "https://pay.example"
        )
        let watch = try #require(try await rig.store.snapshot(of: card)).watch
        try await tries.watch(secure, of: watch, charging: .whole)
        #expect(try await rig.store.snapshot(of: key)?.notify == urls)
    }

    @Test("a watch that a webhook has started gets the charge, the order and the recipients")
    func watchedBefore() async throws {
        let rig = WorkerRig()
        let (card, order) = (Sample.key(), OrderID(unchecked: "A77"))
        let url = try NotifyURL("https://a.example/")
        _ = try await rig.store.enqueue([
            try NewWatch(key: card, notify: [url], order: order), try NewWatch(key: key),
        ])
        let deliveries = MemoryDeliveryQueue(time: ClockTime(rig.clock))
        let watcher = ThreeDSecureWatcher(
            watches: rig.store,
            enqueuer: Enqueuer(watches: rig.store, deliveries: deliveries)
        )
        let secure = ThreeDSecureSource(
            key: key,
            clientSecret: secret,
            needsRedirect: false,
            publicURL: "https://pay.example"
        )
        let watch = try #require(try await rig.store.snapshot(of: card)).watch
        // Twice, as after a crash.
        for _ in 1...2 { try await watcher.watch(secure, of: watch, charging: .whole) }
        let joined = try #require(try await rig.store.snapshot(of: key))
        #expect(joined.watch.charge == .whole && joined.watch.order == order)
        #expect(joined.notify == [url])
        // A closed watch stays closed.
        #expect(try await rig.store.cancel(key))
        try await watcher.watch(secure, of: watch, charging: .whole)
        #expect(try await rig.store.snapshot(of: key)?.closed == .cancelled)
    }

    @Test("without a public URL the next step is at the shop, and the error names the option")
    func unled() {
        let decision = decide(nil)
        #expect(decision.change.events.last?.nextStep == .returnToShop)
        #expect(decision.change.lastError?.contains("POLLER_PUBLIC_URL") == true)
    }

    @Test("without an authentication request by the bank there is no next step")
    func unasked() {
        let secure = ThreeDSecureSource(
            key: key,
            clientSecret: secret,
            needsRedirect: false,
            publicURL: "https://pay.example"
        )
        #expect(decide(secure).change.events.map(\.type) == ["payment.failed", "charge.failed"])
    }

    @Test("a grant opens one payment, and only in full length")
    func grant() throws {
        let grant = try #require(secret.grant(of: key))
        #expect(secret.grants(grant, for: key))
        #expect(!secret.grants(String(grant.dropLast()), for: key) && !secret.grants("", for: key))
        #expect(!secret.grants(grant, for: Sample.key("src_other", account: "default")))
        #expect(!ClientSecret(unchecked: "another").grants(grant, for: key))
    }
}
