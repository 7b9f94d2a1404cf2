import JSONText

/// Tells what will be done before the deadlines of a watch, and when: for an operator to read.
package struct DeadlineForecast: Sendable {
    private let settler: any Settler
    private let payments: any PaymentReader

    /// Asks `settler` what accounts want, and `payments` how long money is held.
    package init(settler: any Settler, payments: any PaymentReader) {
        self.settler = settler
        self.payments = payments
    }

    /// One sentence for each thing that is to be done; none for a closed watch.
    package func sentences(of snapshot: WatchSnapshot) -> [String] {
        let watch = snapshot.watch
        guard snapshot.closed == nil, watch.key.kind.isIntent else { return [] }
        let acts = watch.acts.filled(by: settler.standing(for: watch.key.account))
        var sentences: [String] = []
        if let act = acts.ofHold, watch.key.kind == .paymentIntent {
            if watch.state.status == .requiresCapture {
                let when = actsAt(snapshot).map { "at \($0)" } ?? "before the hold ends"
                sentences.append("it is \(act.participle) \(when), if nobody has done so by then")
            } else {
                sentences.append(
                    "once its money is held, it is \(act.participle) when a tenth of the hold is left"
                )
            }
        }
        if let act = acts.ofAbandoned, watch.state.status?.awaitsPayer ?? true {
            sentences.append("if nobody has paid it by \(watch.deadline), it is \(act.participle)")
        }
        return sentences
    }

    private func actsAt(_ snapshot: WatchSnapshot) -> Timestamp? {
        let watch = snapshot.watch
        let told = snapshot.lastEvent.flatMap { RawJSON(unchecked: $0.json).member("object") }
        guard let object = told, let seenAt = watch.state.lastPolledAt,
            let facts = payments.facts(
                of: watch.key,
                in: object,
                charge: nil,
                disputes: nil,
                seenAt: seenAt
            )
        else { return nil }
        return PaymentLife(facts, Payment(facts), now: seenAt).actsAt
    }
}
