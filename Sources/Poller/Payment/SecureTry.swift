import JSONText
package import PollerIdentity
import PollerQueue

// A card whose bank wants the customer to confirm it (3-D Secure).
//
// ```
// the card says that it needs it, or its charge is refused for want of it
//   ─▶ a source of 3-D Secure is made of it, with a key of the order or the watch
//   ─▶ it is watched as another try of the same order, with the same charge
//   ─▶ the card's watch ends: payment.failed, authentication_required, and the way to the bank
// the customer confirms ─▶ that source is chargeable, and charged as any other
// ```
//
// *Why it is charged once*: the card's watch has ended before its second try can be charged, and nobody
// charges the card again. Where the watch names an order, the second try needs the right to charge it,
// which the first has lost by failing; where it names none, the new source is of single use.
//
// *What a crash leaves*: before the source is made, nothing; before it is watched or the card's watch has
// ended, a card that is looked at again: the same key makes the same source, and a watch that is known is
// left alone.

/// The source of 3-D Secure that was made of a card.
package struct SecureTry: Hashable, Sendable {
    package let key: WatchKey
    package let clientSecret: ClientSecret?
    /// Our address that leads its customer to the bank; nil when the bank asks for nothing.
    package let onward: String?

    /// Describes such a source.
    ///
    /// `publicURL` is where customers reach us. The address carries a grant and not the secret: it is
    /// recorded, and told to whoever is told of the payment.
    package init(key: WatchKey, clientSecret: ClientSecret?, isAsked: Bool, publicURL: String) {
        self.key = key
        self.clientSecret = clientSecret
        guard isAsked, let clientSecret else {
            onward = nil
            return
        }
        onward = clientSecret.way(to: key, at: publicURL)
    }

    /// What the customer must do.
    var step: NextStep { onward.map { .followLink(NextStep.Link(url: $0)) } ?? .none }
}

extension ClientSecret {
    /// Our address that leads the payer on, without having shown the secret: to the bank, or to the page
    /// where there is something to fill in; nil when the secret cannot be opened.
    package func way(to key: WatchKey, at publicURL: String) -> String? {
        guard let grant = grant(of: key) else { return nil }
        let account = key.account == .main ? "" : "&account=\(key.account)"
        return "\(publicURL)/r/\(key.source)/continue?grant=\(grant)\(account)"
    }

    /// What stands in an address for having the secret: it leads on to the bank and tells nothing.
    package func grant(of key: WatchKey) -> String? {
        reveal.map { Digest.base64url(of: ["leads on", $0, key.id.description], bytes: 24) }
    }

    /// Whether a text from an address is the ``grant(of:)``.
    package func grants(_ shown: String, for key: WatchKey) -> Bool {
        guard let grant = grant(of: key) else { return false }
        // Two digests are compared, so that the time tells nothing of where they differ.
        return Digest.base64url(of: [shown], bytes: 24)
            == Digest.base64url(of: [grant], bytes: 24)
    }
}

/// Watches what was made of a card, as another try to pay the same.
package struct SecureTries: Sendable {
    private let watches: any WatchStore
    private let enqueuer: Enqueuer

    /// Enqueues with `enqueuer` what `watches` do not know.
    package init(watches: any WatchStore, enqueuer: Enqueuer) {
        self.watches = watches
        self.enqueuer = enqueuer
    }

    /// Watches `secure`, to be charged as `card` would have been; once, however often it is called.
    func watch(
        _ secure: SecureTry,
        of card: Watch,
        charging order: ChargeOrder
    ) async throws(StoreError) {
        guard try await watches.snapshot(of: secure.key) == nil else { return }
        let snapshot = try await watches.snapshot(of: card.key)
        let urls = snapshot?.notify ?? []
        var parts: [NewWatch] = []
        do throws(InvalidInput) {
            // A watch has URLs of several requests, so it is repeated by several: each joins the one before.
            for start in stride(from: 0, to: max(urls.count, 1), by: NewWatch.notifyMax) {
                var new = try NewWatch(
                    key: secure.key,
                    policy: .interactive,
                    timeout: secure.key.kind.life,
                    notify: Array(urls[start..<min(start + NewWatch.notifyMax, urls.count)]),
                    clientSecret: secure.clientSecret,
                    metadata: snapshot?.metadata ?? "",
                    charge: order,
                    order: card.order
                )
                new.trace = card.trace
                parts.append(new)
            }
        } catch {
            throw .corrupt("the watch of \(card.key.source) cannot be repeated: \(error)")
        }
        _ = try await enqueuer.enqueue(parts)
    }
}

extension PollDecider {
    /// Decides on a card that cannot be charged without its customer: its watch ends, with the next step.
    func unauthenticated(
        _ context: PollContext,
        _ observation: Observation,
        _ secure: SecureTry?
    ) -> Decision<WatchChange> {
        var state = context.polledState
        state.understood()
        state.failures = 0
        state.step = 0
        state.charge = .failed
        let failure = PaymentFacts.Failure(code: "authentication_required")
        // Without a source of ours only the shop's page can go on.
        let step = secure?.step ?? .returnToShop
        let made = secure.map { JSONWriter.literal("\($0.key.source)") } ?? "null"
        let object = """
            {"object":"charge_failure","source":\(JSONWriter.literal("\(context.watch.key.source)")),\
            "code":"authentication_required","decline_code":null,"three_d_secure":\(made)}
            """
        let look = context.look(observation, refused: failure, asking: step)
        let events = context.events(
            look,
            .charge(.failed),
            status: state.status,
            final: false,
            closed: .reached,
            progress: state.charge,
            object: RawJSON(unchecked: object)
        )
        let error =
            secure.map { secure in
                "the card needs 3-D Secure: \(secure.key.source) was made of it, and is watched"
            }
            ?? "the card needs 3-D Secure: make a source of type three_d_secure of it and watch that, or "
            + "set POLLER_PUBLIC_URL and it is done for you"
        let change = WatchChange(
            state: state,
            payment: look?.memory,
            events: events,
            lastError: error
        )
        return Decision(verdict: .close(.reached), change: change)
    }
}
