import PollerIdentity
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
// watch has ended, the card is polled again: the same key returns the same source, and its watch is joined, as is one
// that was started by a webhook about the new source. A closed watch is not started again.

/// Watches the source that was created from a card, as another attempt for the same payment.
package struct ThreeDSecureWatcher: Sendable {
    private let watches: any WatchStore
    private let enqueuer: Enqueuer

    /// Creates a value that enqueues sources, except those whose watch in `watches` is closed.
    package init(watches: any WatchStore, enqueuer: Enqueuer) {
        self.watches = watches
        self.enqueuer = enqueuer
    }

    /// Watches `secure` with the charge of `card`; repeated calls have no effect.
    func watch(
        _ secure: ThreeDSecureSource,
        of card: Watch,
        charging instruction: ChargeInstruction
    ) async throws(StoreError) {
        guard try await watches.snapshot(of: secure.key)?.closed == nil else { return }
        let snapshot = try await watches.snapshot(of: card.key)
        if let snapshot, snapshot.watch.order != card.order {
            // An order has joined during this poll. The next poll creates a source with the key of the order.
            throw .unavailable("an order has joined the watch of \(card.key.source)")
        }
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
                    charge: instruction,
                    order: card.order
                )
                new.options.trace = card.trace
                parts.append(new)
            }
        } catch {
            throw .corrupt("the watch of \(card.key.source) cannot be repeated: \(error)")
        }
        _ = try await enqueuer.enqueue(parts)
    }
}
