import JSONText
import PollerIdentity
import PollerPayments
package import PollerWatches

/// Describes the actions before the deadlines of a watch, and their times, for operators.
package struct DeadlineForecast: Sendable {
    private let settler: any Settler
    private let payments: any PaymentReader

    /// Creates a forecast; `settler` returns the defaults of accounts, `payments` the end of holds.
    package init(settler: any Settler, payments: any PaymentReader) {
        self.settler = settler
        self.payments = payments
    }

    /// Returns one sentence per planned action; none for a closed watch.
    package func sentences(of snapshot: WatchSnapshot) -> [String] {
        var watch = snapshot.watch
        guard snapshot.closed == nil, watch.key.kind.isIntent else { return [] }
        let acts = watch.acts.filled(by: settler.defaults(for: watch.key.account))
        watch.acts = acts
        var sentences: [String] = []
        if let act = acts.ofHold, watch.key.kind == .paymentIntent {
            if watch.state.status == .requiresCapture {
                let plan = time(of: act, snapshot).map { instant in
                    "it is \(act.participle) at \(instant) unless that has already happened"
                }
                sentences.append(
                    plan
                        ?? "it is not \(act.participle) automatically: neither the charge nor its "
                        + "method says when the hold ends"
                )
            } else {
                sentences.append(
                    "once its money is held, it is \(act.participle) when a tenth of the hold "
                        + "is left"
                )
            }
        }
        if let act = acts.ofAbandoned, watch.state.status?.awaitsPayer ?? true {
            sentences.append("if it is not paid by \(watch.end), it is \(act.participle)")
        }
        return sentences
    }

    private func time(of act: DeadlineAct, _ snapshot: WatchSnapshot) -> Timestamp? {
        let watch = snapshot.watch
        let lastObject = snapshot.lastEvent.flatMap { RawJSON(unchecked: $0.json).member("object") }
        guard let object = lastObject, let seenAt = watch.state.lastPolledAt,
            let facts = payments.facts(
                of: watch.key,
                in: object,
                charge: nil,
                lists: .unread,
                seenAt: seenAt
            )
        else { return nil }
        return PaymentLifetime(facts, Payment(facts), now: seenAt).time(of: act)
    }
}
