import Logging
import PollerIdentity
import PollerOperations
import PollerQueue

/// The result of hinting for one event.
private struct HintedEvent: Sendable {
    let id: String
    let result: Result<HintResult, StoreError>
}

extension EventSweep {
    /// The number of events whose marks are read and set at a time: a page.
    private static var groupMax: Int { 100 }

    /// The result of handling what was listed.
    struct Found {
        /// Events that the sweep had not handled before.
        var count = 0
        /// The new events that no webhook had delivered.
        var unseen: [String] = []
        /// Whether an event must be read again, because the upstream has not named the owner of its charge.
        var mustRepeat = false
    }

    /// The result of hinting for new events.
    private struct Hinted {
        /// The events that no webhook had delivered.
        var unseen: [String] = []
        /// The reason for each event whose owner the upstream did not name.
        var unanswered: [String: String] = [:]
    }

    /// Hints for every event that the sweep has not handled yet, and marks them as handled.
    ///
    /// `createsHints`: `false` only marks them.
    func handle(
        _ events: [AccountEvent],
        of account: Account,
        createsHints: Bool,
        _ interval: Duration
    ) async throws(StoreError) -> Found {
        var found = Found()
        for start in stride(from: 0, to: events.count, by: Self.groupMax) {
            let group = Array(events[start..<min(start + Self.groupMax, events.count)])
            let handled = try await store.isMarked(
                group.map { HintIntake.mark(swept: $0.id) },
                of: account.id
            )
            let new = zip(group, handled).filter { !$1 }.map(\.0)
            guard !new.isEmpty else { continue }
            var repeated: Set<String> = []
            if createsHints {
                let hinted = try await hint(new, of: account)
                found.unseen += hinted.unseen
                repeated = try await eventsToRepeat(hinted.unanswered, of: account)
            }
            if !repeated.isEmpty { found.mustRepeat = true }
            let done = new.filter { !repeated.contains($0.id) }
            found.count += done.count
            let span = SweepStep.markSpan(interval: interval)
            // After the hints: a crash between the two repeats the hints, which is harmless.
            try await store.mark(done.map { (HintIntake.mark(swept: $0.id), span) }, of: account.id)
        }
        return found
    }

    /// Returns the events to read again: those whose owner has been unknown for less than ``answerSpan``.
    ///
    /// The first failure is marked in the store, so that all processes measure the same time.
    private func eventsToRepeat(
        _ unanswered: [String: String],
        of account: Account
    ) async throws(StoreError) -> Set<String> {
        guard !unanswered.isEmpty else { return [] }
        let ids = Array(unanswered.keys)
        let tried = try await store.isMarked(
            ids.map { HintIntake.mark(unanswered: $0) },
            of: account.id
        )
        let recent = try await store.isMarked(
            ids.map { HintIntake.mark(repeated: $0) },
            of: account.id
        )
        var repeated: Set<String> = []
        var marks: [(name: String, span: Duration)] = []
        for (id, (isTried, isRecent)) in zip(ids, zip(tried, recent)) {
            if isTried, !isRecent {
                logger.warning(
                    "an event is given up, because the owner of its charge cannot be read",
                    metadata: [
                        "account": "\(account.id)", "event": "\(id)",
                        "error": "\(unanswered[id] ?? "")",
                    ]
                )
                continue
            }
            repeated.insert(id)
            if !isTried {
                marks.append((HintIntake.mark(unanswered: id), HintIntake.eventSpan))
                marks.append((HintIntake.mark(repeated: id), answerSpan))
            }
        }
        try await store.mark(marks, of: account.id)
        return repeated
    }

    private func hint(
        _ events: [AccountEvent],
        of account: Account
    ) async throws(StoreError) -> Hinted {
        let seen = try await store.isMarked(
            events.map { HintIntake.mark(ofEvent: $0.id) },
            of: account.id
        )
        let unseen = zip(events, seen).filter { !$1 }.map(\.0)
        let partition = suspects.partition(of: account.id.description)
        let named = unseen.map { HintIntake.suspect($0, of: account.id, countedIn: partition) }
        var hinted = Hinted()
        try await suspects.handle(named) { (group) async throws(StoreError) in
            let group = Set(group)
            let events = zip(unseen, named).filter { group.contains($1) }.map(\.0)
            #if DEBUG
            for suspect in group { FailPoint.check(.hint, suspect.about ?? "") }
            #endif
            let unanswered = try await hintAtOnce(events, of: account)
            hinted.unanswered.merge(unanswered) { _, later in later }
        }
        // Missed webhooks are counted only for the usual list, where they are frequent.
        if account.expectsWebhooks, account.list == .usual { hinted.unseen = unseen.map(\.id) }
        return hinted
    }

    /// Hints for events; returns the reason for each whose owner the upstream did not name.
    private func hintAtOnce(
        _ events: [AccountEvent],
        of account: Account
    ) async throws(StoreError) -> [String: String] {
        let results = await withTaskGroup(of: HintedEvent.self) { [hintIntake] group in
            var results: [HintedEvent] = []
            for (index, event) in events.enumerated() {
                if index >= Self.hintsMax, let done = await group.next() {
                    results.append(done)
                }
                // Concurrent, so that hints do not wait for each other's round trips.
                group.addTask {
                    do throws(StoreError) {
                        let result = try await hintIntake.hint(
                            event,
                            of: account.id,
                            isWebhook: false
                        )
                        return HintedEvent(id: event.id, result: .success(result))
                    } catch {
                        return HintedEvent(id: event.id, result: .failure(error))
                    }
                }
            }
            for await done in group { results.append(done) }
            return results
        }
        var unanswered: [String: String] = [:]
        for event in results {
            if case .unanswered(let reason) = try event.result.get() {
                unanswered[event.id] = reason
            }
        }
        return unanswered
    }
}
