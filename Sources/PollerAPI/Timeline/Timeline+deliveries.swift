import Poller
import PollerWire

/// Who was told, and who could not be.
extension Timeline {
    /// Who has still to be told and is not told in its turn, behind everything that was.
    func ahead(behind last: Timestamp) -> [TimelineEntry] {
        told.compactMap { told in
            guard let (tone, text) = told.outlook else { return nil }
            // When it is due, which is later than all that was, or not known.
            let at = max(told.delivery.nextAttempt(told.lane) ?? last, last)
            var entry = TimelineEntry(at, .ahead, tone, "\(told.name) \(text)")
            entry.detail = told.delivery.lastError
            entry.endpoint = told.delivery.delivery.endpoint.description
            return entry
        }
    }

    /// The attempts of one delivery: each that was accepted, and those that failed one after the other
    /// as one.
    func entries(_ told: Told) -> [TimelineEntry] {
        var entries: [TimelineEntry] = []
        var failed: [AttemptRecord] = []
        for attempt in told.attempts {
            if attempt.outcome == .failed || attempt.outcome == .rejected {
                if let last = failed.last, last.seq != attempt.seq {
                    entries.append(entry(of: failed, told))
                    failed = []
                }
                failed.append(attempt)
            } else {
                if !failed.isEmpty { entries.append(entry(of: failed, told)) }
                failed = []
                entries.append(entry(of: attempt, told))
            }
        }
        if !failed.isEmpty { entries.append(entry(of: failed, told)) }
        return entries
    }

    private func entry(of attempt: AttemptRecord, _ told: Told) -> TimelineEntry {
        let took = attempt.phases.totalMs.map { " in \($0) ms" } ?? ""
        let isSkipped = attempt.outcome == .skipped
        let text =
            switch (isSkipped, told.isMail) {
            case (true, _): "\(told.name) was not told: \(word(of: attempt))."
            case (false, true): "A mail to \(told.name) went out: \(word(of: attempt))."
            case (false, false): "\(told.name) was told: \(word(of: attempt))."
            }
        let answer =
            switch (isSkipped, told.isMail) {
            case (true, _): attempt.reason
            // So old that nothing else is kept.
            case (false, _) where attempt.event == nil: "it was accepted"
            case (false, true): "the mail server took it\(took)"
            case (false, false): "answered \(attempt.code.map { "\($0)" } ?? "yes")\(took)"
            }
        var entry = entry(attempt.at, .quiet, text, answer, told, of: attempt.seq)
        if attempt.outcome == .delivered {
            entry.accepted = events.first { $0.seq == attempt.seq }?.word ?? "event \(attempt.seq)"
        }
        return entry
    }

    /// Attempts of one event that all failed.
    private func entry(of attempts: [AttemptRecord], _ told: Told) -> TimelineEntry {
        guard let first = attempts.first, let last = attempts.last else { return TimelineEntry() }
        let hasGivenUp =
            last.outcome == .rejected || told.delivery.delivery.state.dead.contains(last.seq)
        let times = attempts.count > 1 ? " (\(attempts.count) attempts)" : ""
        let end = hasGivenUp ? " It was given up." : ""
        var entry = entry(
            first.at,
            hasGivenUp ? .bad : .careful,
            "\(told.name) could not be told: \(word(of: first))\(times).\(end)",
            last.reason.isEmpty ? StoryWords.plain(last.kind.rawValue) : last.reason,
            told,
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
        _ told: Told,
        of seq: Int
    ) -> TimelineEntry {
        var entry = TimelineEntry(at, told.isMail ? .mail : .delivery, tone, text, detail: detail)
        entry.endpoint = told.delivery.delivery.endpoint.description
        entry.seq = seq
        entry.payment = events.first { $0.seq == seq }?.payment
            .map { Open(rawValue: $0.state.rawValue) }
        return entry
    }

    /// What was told, in quotation marks.
    private func word(of attempt: AttemptRecord) -> String {
        let event = events.first { $0.seq == attempt.seq }
        return event.map { "“\($0.word)”" } ?? "event \(attempt.seq)"
    }
}

extension Timeline.Told {
    /// What is to be expected of who has something to be told still; nil while that goes its way.
    fileprivate var outlook: (tone: Timeline.Tone, text: String)? {
        if delivery.state == .dead {
            return (.bad, "is not told any more, unless somebody sends it again.")
        }
        guard delivery.state == .waiting || delivery.state == .failing else { return nil }
        if isDisabled { return (.bad, "is disabled and told nothing.") }
        if lane?.isPaused == true { return (.bad, "is stopped and told nothing.") }
        let isHeld = lane.map { $0.circuit != .closed } ?? false
        if delivery.state == .failing {
            return (.careful, isHeld ? "is told again as soon as it answers." : "is told again.")
        }
        return isHeld ? (.careful, "takes no events now; it is told when it does.") : nil
    }
}
