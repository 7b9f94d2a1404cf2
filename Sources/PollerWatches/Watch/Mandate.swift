import JSONText
package import PollerIdentity
package import PollerPayments

/// The mandate to debit the account of a source.
package struct Mandate: Hashable, Sendable {
    /// The reference, which the bank statement contains.
    package let reference: String?
    /// The URL of a page that shows the mandate; it contains the payment's secret.
    package let url: String?

    /// Reads the mandate from the last object of a watch; `nil` without one.
    ///
    /// The URL was recorded without the secret, which is inserted again if it is known.
    package init?(_ snapshot: WatchSnapshot) {
        guard snapshot.watch.key.kind == .source, let event = snapshot.lastEvent,
            let object = RawJSON(unchecked: event.json).member("object")
        else { return nil }
        // A charge contains its source.
        let source = object.member("source").flatMap { $0.kind == .object ? $0 : nil } ?? object
        guard let type = source.member("type")?.string, let details = source.member(type) else {
            return nil
        }
        reference = details.member("mandate_reference")?.string
        let url = details.member("mandate_url")?.string
        let secret = snapshot.watch.clientSecret?.reveal
        if let url, url.hasSuffix("/redacted") {
            self.url = secret.map { String(url.dropLast("redacted".count)) + $0 }
        } else {
            self.url = url
        }
        if reference == nil, self.url == nil { return nil }
    }
}

extension Event {
    /// Creates the event of a notice, which repeats the last reported state: nothing else of the watch changes.
    ///
    /// For a closed watch the event is a run of its own, which ends with the same reason.
    package init(announcing notice: MandateNotice, of snapshot: WatchSnapshot, at now: Timestamp) {
        let last = snapshot.lastEvent
        self.init(
            watch: snapshot.closed == nil ? snapshot.watch : snapshot.watch.inNextRun,
            of: .mandate(notice),
            status: snapshot.watch.state.status,
            final: snapshot.closed == .settled,
            closed: snapshot.closed,
            payment: snapshot.payment,
            nextStep: last?.nextStep ?? .none,
            isLive: last?.isLive,
            object: last.flatMap { RawJSON(unchecked: $0.json).member("object") },
            polledAt: now,
            lag: .zero
        )
    }
}

extension Watch {
    /// The watch in its next run, in which nothing is polled.
    fileprivate var inNextRun: Watch {
        Watch(
            key: key,
            policy: policy,
            createdAt: createdAt,
            deadline: deadline,
            run: run + 1,
            seq: seq,
            order: order,
            trace: trace,
            state: state
        )
    }
}
