import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerTesting
import PollerWatches

/// Stored entries that kill the processes that read them: deaths are counted, and the entries are set aside.
extension QueueConformance {
    static let suspects: [ConformanceCase] = [
        Case("an abandoned mark is one crash per process that handled the entry alone") { bench in
            let suspect = bench.suspect("1")
            try equal(try await bench.begin([suspect]), [.fresh], "the first process")
            try equal(try await bench.deaths(suspect), 1, "crashes before the second process")
            // Reporting counts nothing.
            try equal(
                try await bench.deaths(suspect),
                1,
                "crashes before the entry is handled alone"
            )
            try equal(
                try await bench.deaths(suspect, isAlone: true),
                1,
                "crashes before the second process alone"
            )
            try equal(
                try await bench.deaths(suspect, isAlone: true),
                2,
                "crashes before the third process alone"
            )
            try await bench.suspects.finish([suspect])
            try equal(try await bench.begin([suspect]), [.fresh], "after a process survived")
        },
        Case("crashes are counted per entry") { bench in
            let suspects = ["1", "2", "3"].map { bench.suspect($0) }
            _ = try await bench.begin([suspects[1]])
            let states = try await bench.begin(suspects)
            try equal(states[0], .fresh, "the first")
            try bench.expect(states[1] != .fresh, "the mark of the second entry is lost")
            try equal(states[2], .fresh, "the third")
            try await bench.suspects.finish([suspects[0]])
            try equal(try await bench.begin([suspects[0]]), [.fresh], "the first entry again")
            try equal(try await bench.deaths(suspects[2]), 1, "crashes of the third entry")
        },
        Case("a mark younger than its reader's span counts as held by a live process") { bench in
            let suspect = bench.suspect("1", .retention)
            _ = try await bench.begin([suspect])
            try equal(try await bench.begin([suspect]), [.held], "at once")
            try equal(try await bench.begin([suspect], isAlone: true), [.held], "alone")
            try await bench.advance(ms: 60_000)
            try equal(try await bench.deaths(suspect, isAlone: true), 1, "after the span")
            try equal(try await bench.begin([suspect]), [.held], "the next one's span")
        },
        Case("the state of an entry has the time of the first process") { bench in
            let suspect = bench.suspect("1")
            _ = try await bench.begin([suspect])
            try await bench.advance(ms: 4000)
            _ = try await bench.begin([suspect], isAlone: true)
            try await bench.advance(ms: 5000)
            guard case .suspected(_, let first, let now)? = try await bench.begin([suspect]).first
            else { throw ConformanceFailure(message: "the entry is not suspected") }
            try equal(now - first, .seconds(9), "the time since the first process")
        },
        Case("an entry that is set aside is listed until it is redriven or dismissed") { bench in
            let suspects = [bench.suspect("1", .hint), bench.suspect("2", .replay)]
            for suspect in suspects {
                _ = try await bench.begin([suspect])
                try bench.expect(try await bench.setAside(suspect), "the entry was not set aside")
                try equal(try await bench.begin([suspect]), [.setAside], "its state")
                try await bench.advance(ms: 1000)
            }
            let entries = try await bench.suspects.setAsideEntries()
            try equal(
                entries.map(\.id),
                suspects.map(\.id),
                "the list, sorted by ID within one instant"
            )
            try equal(entries.map(\.deaths), [3, 3], "crashes")
            try equal(entries.map(\.about), ["src_1", "src_2"], "the subjects of the entries")
            try equal(entries[0].hintedWatch, bench.key("1"), "the watch of the hint")
            for (suspect, isRedriven) in zip(suspects, [true, false]) {
                let ended = try await bench.suspects.endSetAside(suspect.id, isRedriven: isRedriven)
                try equal(ended?.id, suspect.id, "the ended entry")
                let again = try await bench.suspects.endSetAside(suspect.id, isRedriven: isRedriven)
                try equal(again, nil, "ended again")
                try equal(try await bench.begin([suspect]), [.fresh], "its state afterwards")
            }
            try equal(try await bench.suspects.setAsideEntries(), [], "the list afterwards")
        },
        Case("an outbox entry that is set aside leaves the outbox, and the others stay") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            try await bench.record(key, ["a", "b", "c"])
            let before = try await bench.outbox.bounds()[home]
            let entries = try await bench.unacknowledged(home, ConformanceBench.anna)
            // The newest entry: readers that have reached it must not be ahead of the outbox.
            let suspect = Suspect(.outbox, partition: home, name: entries[2].id)
            _ = try await bench.begin([suspect])
            try bench.expect(try await bench.setAside(suspect), "the entry was not set aside")
            try bench.expect(
                try await bench.setAside(suspect),
                "the entry was not set aside by another notifier"
            )
            let kept = try await bench.outbox.entries(partition: home, after: "0", limit: 10)
            try equal(kept.map(\.event.seq), [1, 2], "the outbox")
            try equal(try await bench.outbox.bounds()[home].newest, before.newest, "newest")
            try equal(try await bench.watches.stats().undelivered, 2, "undelivered")
            let found = try await bench.watches.events(of: key, after: 0, limit: 10)
            try equal(found.map(\.seq), [1, 2, 3], "the log of the watch")
            let entry = try bench.some(try await bench.suspects.setAsideEntries().first, "an entry")
            try equal(entry.about, "src_1", "its subject")
            try equal(entry.account, key.account, "its account")
            let older = Suspect(.outbox, partition: home, name: entries[1].id)
            try bench.expect(try await bench.setAside(older), "another entry was not set aside")
            let newest = try await bench.outbox.bounds()[home].newest
            try equal(newest, before.newest, "newest after an older one")
        },
        Case("a redriven outbox entry is added as new and read by notifiers") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            try await bench.record(key, ["a", "b"], notify: ["https://a.example/hook"])
            let entries = try await bench.unacknowledged(home, ConformanceBench.anna)
            let suspect = Suspect(.outbox, partition: home, name: entries[0].id)
            try bench.expect(try await bench.setAside(suspect), "the entry was not set aside")
            let ended = try await bench.suspects.endSetAside(suspect.id, isRedriven: true)
            try equal(ended?.id, suspect.id, "the redriven entry")
            let read = try await bench.outbox.read(
                partition: home,
                consumer: ConformanceBench.bert,
                idle: .seconds(3600),
                limit: 10
            )
            try equal(read.fresh.map(\.event), [entries[0].event], "the new entry")
            try equal(read.fresh.map(\.notify), [entries[0].notify], "its URLs")
            try bench.expect(read.fresh[0].id != entries[0].id, "the new entry has the old ID")
            try equal(read.abandoned, [], "abandoned")
        },
        Case("a dismissed outbox entry is not read again") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            try await bench.record(key, ["a"])
            let entries = try await bench.unacknowledged(home, ConformanceBench.anna)
            let suspect = Suspect(.outbox, partition: home, name: entries[0].id)
            try bench.expect(try await bench.setAside(suspect), "the entry was not set aside")
            _ = try await bench.suspects.endSetAside(suspect.id, isRedriven: false)
            let kept = try await bench.outbox.entries(partition: home, after: "0", limit: 10)
            try equal(kept, [], "the outbox")
            try equal(try await bench.suspects.setAsideEntries(), [], "the list")
        },
        Case("abandoned entries are returned as IDs, new ones with their events") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            try await bench.record(key, ["a"])
            let first = try await bench.unacknowledged(home, ConformanceBench.anna)
            try await bench.record(key, ["b"])
            var abandoned: [String] = []
            var fresh: [OutboxEntry] = []
            // Redis uses its own clock here.
            for _ in 0..<100 where abandoned.isEmpty {
                try await bench.harness.advance(by: .milliseconds(50))
                let read = try await bench.outbox.read(
                    partition: home,
                    consumer: ConformanceBench.bert,
                    idle: .milliseconds(1),
                    limit: 10
                )
                abandoned += read.abandoned.filter { id in first.contains { $0.id == id } }
                fresh += read.fresh
            }
            try equal(abandoned, first.map(\.id), "abandoned")
            let read = try await bench.outbox.handedOver(partition: home, abandoned)
            try equal(read, first, "the abandoned one, decoded")
        },
    ]
}

extension ConformanceBench {
    /// Creates an entry of a reader, about a source.
    fileprivate func suspect(_ source: String, _ reader: SuspectReader = .sweep) -> Suspect {
        Suspect(
            reader,
            partition: 1,
            name: "entry \(source)",
            account: key(source).account,
            about: key(source).source.description
        )
    }

    fileprivate func begin(
        _ entries: [Suspect],
        isAlone: Bool = false
    ) async throws -> [SuspectState] {
        try await suspects.begin(entries, isAlone: isAlone)
    }

    /// Returns the deaths that a process finds when it begins; `nil` if there are none.
    fileprivate func deaths(_ suspect: Suspect, isAlone: Bool = false) async throws -> Int? {
        guard
            case .suspected(let deaths, _, _)? = try await begin([suspect], isAlone: isAlone).first
        else { return nil }
        return deaths
    }

    fileprivate func setAside(_ suspect: Suspect) async throws -> Bool {
        guard case .suspected(_, let first, let now)? = try await begin([suspect]).first else {
            let zero = Timestamp(ms: 0)
            return try await suspects.setAside(
                SetAsideEntry(suspect, deaths: 3, firstAt: zero, at: zero)
            )
        }
        return try await suspects.setAside(
            SetAsideEntry(suspect, deaths: 3, firstAt: first, at: now)
        )
    }
}
