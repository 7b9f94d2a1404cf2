import JSONText
package import PollerIdentity
import PollerPayments
import PollerQueue
package import PollerWatches

// Cards whose bank requires authentication by the customer (3-D Secure).
//
// ```
// the card requires it, or its charge is refused without it
//   ─▶ a 3-D Secure source is created from it, with a key of the order or the watch
//   ─▶ it is watched as another attempt for the same order, with the same charge
//   ─▶ the card's watch ends: payment.failed, authentication_required, and the link to the bank
// the customer authenticates ─▶ that source is chargeable, and charged like any other
// ```
//
// *Why it is charged once*: the card's watch ends before its second attempt can be charged, and the card is not charged
// again. If the watch names an order, the second attempt needs the right to charge it, which the first has lost by
// failing. Without an order, the new source is single-use.
//
// *After a crash* before the source is created nothing has happened. Later, until the source is watched and the card's
// watch has ended, the card is polled again: the same key returns the same source, and an existing watch is kept.

/// The 3-D Secure source that was created from a card.
package struct ThreeDSecureSource: Hashable, Sendable {
    package let key: WatchKey
    package let clientSecret: ClientSecret?
    /// The link through which its customer reaches the bank; `nil` if the bank requires no action.
    package let redirectURL: String?

    /// Creates a value.
    ///
    /// `publicURL` is the public URL of this system. The link contains a grant and not the secret, because it is
    /// recorded and sent to all recipients of the payment.
    package init(key: WatchKey, clientSecret: ClientSecret?, needsRedirect: Bool, publicURL: String)
    {
        self.key = key
        self.clientSecret = clientSecret
        guard needsRedirect, let clientSecret else {
            redirectURL = nil
            return
        }
        redirectURL = clientSecret.way(to: key, at: publicURL)
    }

    /// The customer's next step.
    var step: NextStep { redirectURL.map { .followLink(NextStep.Link(url: $0)) } ?? .none }
}

extension ClientSecret {
    /// Returns a link that forwards the payer without showing the secret: to the bank, or to the page if there is a
    /// form; `nil` if the secret cannot be decrypted.
    package func way(to key: WatchKey, at publicURL: String) -> String? {
        guard let grant = grant(of: key) else { return nil }
        let account = key.account == .main ? "" : "&account=\(key.account)"
        return "\(publicURL)/r/\(key.source)/continue?grant=\(grant)\(account)"
    }

    /// Returns the grant, which replaces the secret in a link: it forwards to the bank and reveals nothing.
    package func grant(of key: WatchKey) -> String? {
        reveal.map { Digest.base64url(of: ["leads on", $0, key.id.description], bytes: 24) }
    }

    /// Whether a text from a link is the ``grant(of:)``.
    package func grants(_ shown: String, for key: WatchKey) -> Bool {
        guard let grant = grant(of: key) else { return false }
        // Digests are compared, so that the timing does not reveal where the texts differ.
        return Digest.base64url(of: [shown], bytes: 24)
            == Digest.base64url(of: [grant], bytes: 24)
    }
}

/// Watches the source that was created from a card, as another attempt for the same payment.
package struct ThreeDSecureWatcher: Sendable {
    private let watches: any WatchStore
    private let enqueuer: Enqueuer

    /// Creates a value that enqueues sources unknown to `watches`.
    package init(watches: any WatchStore, enqueuer: Enqueuer) {
        self.watches = watches
        self.enqueuer = enqueuer
    }

    /// Watches `secure` with the charge of `card`; repeated calls have no effect.
    func watch(
        _ secure: ThreeDSecureSource,
        of card: Watch,
        charging order: ChargeOrder
    ) async throws(StoreError) {
        guard try await watches.snapshot(of: secure.key) == nil else { return }
        let snapshot = try await watches.snapshot(of: card.key)
        let urls = snapshot?.notify ?? []
        var parts: [NewWatch] = []
        do throws(InvalidInput) {
            // A watch may have the URLs of several requests, so several requests are made: each joins the previous one.
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
    /// Decides on a card that requires authentication: its watch ends, with the next step.
    func unauthenticated(
        _ context: PollContext,
        _ observation: Observation,
        _ secure: ThreeDSecureSource?
    ) -> Decision<WatchChange> {
        var state = context.polledState
        state.understood()
        state.failures = 0
        state.step = 0
        state.charge = .failed
        let failure = PaymentFacts.Failure(code: "authentication_required")
        // Without such a source only the shop's page can continue.
        let step = secure?.step ?? .returnToShop
        let made = secure.map { JSONWriter.literal("\($0.key.source)") } ?? "null"
        let object = """
            {"object":"charge_failure","source":\(JSONWriter.literal("\(context.watch.key.source)")),\
            "code":"authentication_required","decline_code":null,"three_d_secure":\(made)}
            """
        let reading = context.reading(observation, refused: failure, asking: step)
        let events = context.events(
            reading,
            .charge(.failed),
            status: state.status,
            final: false,
            closed: .reached,
            progress: state.charge,
            object: RawJSON(unchecked: object)
        )
        let error =
            secure.map { secure in
                "the card needs 3-D Secure: \(secure.key.source) was created from it and is watched"
            }
            ?? "the card needs 3-D Secure: create a source of type three_d_secure from it and watch that, or "
            + "set POLLER_PUBLIC_URL to have this done automatically"
        let change = WatchChange(
            state: state,
            payment: reading?.memory,
            events: events,
            lastError: error
        )
        return Decision(verdict: .close(.reached), change: change)
    }
}
