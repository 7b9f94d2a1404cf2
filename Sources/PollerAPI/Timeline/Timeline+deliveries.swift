import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerWatches
import PollerWire

/// The deliveries of a payment's events.
extension Timeline {
    /// Returns pending deliveries that are delayed or failed, after all past entries.
    func ahead(behind last: Timestamp) -> [TimelineEntry] {
        recipients.compactMap { recipient in
            guard let (tone, text) = recipient.outlook else { return nil }
            // The next attempt, or the time of the last entry when no attempt is scheduled.
            let at = max(recipient.delivery.nextAttempt(recipient.lane) ?? last, last)
            var entry = TimelineEntry(at, .ahead, tone, text)
            entry.detail = recipient.delivery.lastError
            entry.endpoint = recipient.delivery.delivery.endpoint.description
            return entry
        }
    }

    /// Returns the attempts of one delivery as entries.
    ///
    /// Consecutive failures of one event are one entry.
    func entries(_ recipient: Recipient) -> [TimelineEntry] {
        var entries: [TimelineEntry] = []
        var failed: [AttemptRecord] = []
        for attempt in recipient.attempts {
            if attempt.outcome == .failed || attempt.outcome == .rejected {
                if let last = failed.last, last.seq != attempt.seq {
                    entries.append(entry(of: failed, recipient))
                    failed = []
                }
                failed.append(attempt)
            } else {
                if !failed.isEmpty { entries.append(entry(of: failed, recipient)) }
                failed = []
                entries.append(entry(of: attempt, recipient))
            }
        }
        if !failed.isEmpty { entries.append(entry(of: failed, recipient)) }
        return entries
    }

    private func entry(of attempt: AttemptRecord, _ recipient: Recipient) -> TimelineEntry {
        let took = attempt.phases.totalMs.map { " in \($0) ms" } ?? ""
        let isSkipped = attempt.outcome == .skipped
        let text =
            switch (isSkipped, recipient.isMail) {
            case (true, _): "\(subject(of: attempt)) was not sent to \(recipient.name)."
            case (false, true): "\(subject(of: attempt)) was emailed to \(recipient.name)."
            case (false, false): "\(subject(of: attempt)) was delivered to \(recipient.name)."
            }
        let answer =
            switch (isSkipped, recipient.isMail) {
            case (true, _): attempt.reason
            // The details of old attempts are no longer stored.
            case (false, _) where attempt.event == nil: "accepted"
            case (false, true): "accepted by the mail server\(took)"
            case (false, false): attempt.code.map { "answered \($0)\(took)" } ?? "accepted\(took)"
            }
        var entry = entry(attempt.at, .quiet, text, answer, recipient, of: attempt.seq)
        if attempt.outcome == .delivered {
            entry.accepted = events.first { $0.seq == attempt.seq }?.label ?? "event \(attempt.seq)"
        }
        return entry
    }

    /// Returns the entry of one event's failed attempts.
    private func entry(of attempts: [AttemptRecord], _ recipient: Recipient) -> TimelineEntry {
        guard let first = attempts.first, let last = attempts.last else { return TimelineEntry() }
        let isDead =
            last.outcome == .rejected || recipient.delivery.delivery.state.dead.contains(last.seq)
        let times = attempts.count > 1 ? " (\(attempts.count) attempts)" : ""
        let end = isDead ? " It will not be retried." : ""
        var entry = entry(
            first.at,
            isDead ? .bad : .careful,
            "Delivery of \(label(of: first)) to \(recipient.name) failed\(times).\(end)",
            last.reason.isEmpty ? TimelineText.plain(last.kind.rawValue) : last.reason,
            recipient,
            of: first.seq
        )
        if attempts.count > 1 { entry.until = Time(last.at) }
        entry.attempts = attempts.map { DeliveryAttempt($0) }
        return entry
    }

    private func entry(
        _ at: Timestamp,
        _ tone: Tone,
        _ text: String,
        _ detail: String,
        _ recipient: Recipient,
        of seq: Int
    ) -> TimelineEntry {
        let kind: TimelineEntry.Kind = recipient.isMail ? .mail : .delivery
        var entry = TimelineEntry(at, kind, tone, text, detail: detail)
        entry.endpoint = recipient.delivery.delivery.endpoint.description
        entry.seq = seq
        entry.payment = events.first { $0.seq == seq }?.payment
            .map { Open(rawValue: $0.state.rawValue) }
        return entry
    }

    /// Returns the label of the event in quotes, or `event 5` when it is no longer stored.
    private func label(of attempt: AttemptRecord) -> String {
        let event = events.first { $0.seq == attempt.seq }
        return event.map { "“\($0.label)”" } ?? "event \(attempt.seq)"
    }

    /// Returns the label at the start of a sentence.
    private func subject(of attempt: AttemptRecord) -> String {
        let label = label(of: attempt)
        return label.prefix(1).uppercased() + label.dropFirst()
    }
}

extension Timeline.Recipient {
    /// The expected outcome of pending events; `nil` while delivery is on schedule.
    fileprivate var outlook: (tone: Timeline.Tone, text: String)? {
        if delivery.state == .dead {
            return (.bad, "Delivery to \(name) failed and is not retried automatically.")
        }
        guard delivery.state == .waiting || delivery.state == .failing else { return nil }
        if isDisabled { return (.bad, "\(name) is disabled and receives no events.") }
        if lane?.isPaused == true { return (.bad, "Deliveries to \(name) are paused.") }
        let isHeld = lane.map { $0.circuit != .closed } ?? false
        if delivery.state == .failing {
            let time = isHeld ? "is retried when it recovers" : "will be retried"
            return (.careful, "Delivery to \(name) \(time).")
        }
        return isHeld
            ? (.careful, "\(name) is unavailable. Delivery continues when it recovers.") : nil
    }
}
