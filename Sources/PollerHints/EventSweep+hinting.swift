import PollerIdentity
import PollerOperations
import PollerQueue

extension EventSweep {
    /// The number of events whose marks are read and set at a time: a page.
    private static var groupMax: Int { 100 }

    /// The result of handling what was listed.
    struct Found {
        /// Events that the sweep had not handled before.
        var count = 0
        /// The new events that no webhook had delivered.
        var unseen: [String] = []
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
            found.count += new.count
            if createsHints { found.unseen += try await hint(new, of: account) }
            let span = SweepStep.markSpan(interval: interval)
            // After the hints: a crash between the two repeats the hints, which is harmless.
            try await store.mark(new.map { (HintIntake.mark(swept: $0.id), span) }, of: account.id)
        }
        return found
    }

    /// Hints for every event; returns those that no webhook had delivered.
    private func hint(
        _ events: [AccountEvent],
        of account: Account
    ) async throws(StoreError) -> [String] {
        let seen = try await store.isMarked(
            events.map { HintIntake.mark(ofEvent: $0.id) },
            of: account.id
        )
        let unseen = zip(events, seen).filter { !$1 }.map(\.0)
        let partition = suspects.partition(of: account.id.description)
        let named = unseen.map { HintIntake.suspect($0, of: account.id, countedIn: partition) }
        try await suspects.handle(named) { (group) async throws(StoreError) in
            let group = Set(group)
            let events = zip(unseen, named).filter { group.contains($1) }.map(\.0)
            #if DEBUG
            for suspect in group { PlantedTrap.check(.hint, suspect.about ?? "") }
            #endif
            try await hintAtOnce(events, of: account)
        }
        // Missed webhooks are counted only for the usual list, where they are frequent.
        return account.expectsWebhooks && account.list == .usual ? unseen.map(\.id) : []
    }

    private func hintAtOnce(
        _ events: [AccountEvent],
        of account: Account
    ) async throws(StoreError) {
        let failure = await withTaskGroup(of: StoreError?.self) { [hintIntake] group in
            var failure: StoreError?
            for (index, event) in events.enumerated() {
                if index >= Self.hintsMax, let done = await group.next() {
                    failure = failure ?? done
                }
                // Concurrent, so that hints do not wait for each other's round trips.
                group.addTask {
                    do throws(StoreError) {
                        _ = try await hintIntake.hint(event, of: account.id, isWebhook: false)
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            for await done in group { failure = failure ?? done }
            return failure
        }
        if let failure { throw failure }
    }
}
