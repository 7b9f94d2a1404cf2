import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    /// The notes of a watch.
    static let notes: [ConformanceCase] = [
        Case("a note is read as written, with the store's time, and changes no watch") { bench in
            let key = try await bench.enqueued("1")
            let before = try await bench.snapshot(key)
            let notes = [
                WatchNote(.hint, "charge.\"ä\"", by: WatchNote.webhook),
                WatchNote(.visit, "page"),
                WatchNote(.deed, "pollWatch", by: "shop", isOfAccount: true),
            ]
            for note in notes { try await bench.watches.note(note, of: key) }
            let kept = try await bench.watches.notes(of: key)
            try equal(kept.map(\.note), notes, "the notes")
            try equal(kept.allSatisfy { $0.at.ms > 0 }, true, "the notes have the store's time")
            try equal(try await bench.snapshot(key), before, "the watch")
        },
        Case("no note is stored for an unknown watch") { bench in
            let key = bench.key("1")
            try await bench.watches.note(WatchNote(.visit, "page"), of: key)
            try await bench.enqueue(key)
            try equal(try await bench.watches.notes(of: key), [], "notes")
        },
        Case("the same note is stored once a minute, despite other notes in between") { bench in
            let key = try await bench.enqueued("1")
            for ms in [0, 30_000, 29_000, 2000, 61_000] {
                try await bench.advance(ms: ms)
                try await bench.watches.note(WatchNote(.visit, "page"), of: key)
                try await bench.watches.note(WatchNote(.hint, "charge.\(ms)"), of: key)
            }
            let kept = try await bench.watches.notes(of: key)
            try equal(kept.count { $0.note.kind == .visit }, 3, "visits")
            try equal(kept.count { $0.note.kind == .hint }, 5, "hints")
        },
        Case("the newest notes are kept, also from an earlier run") { bench in
            let key = try await bench.enqueued("1")
            for number in 1...WatchNote.countMax {
                try await bench.watches.note(WatchNote(.hint, "\(number)"), of: key)
            }
            _ = try await bench.watches.cancel(key)
            try await bench.watches.note(WatchNote(.deed, "cancelWatch", by: "ann"), of: key)
            try await bench.enqueue(key)
            let kept = try await bench.watches.notes(of: key)
            try equal(kept.count, WatchNote.countMax, "notes")
            try equal(kept.first?.note.what, "2", "the oldest")
            try equal(kept.last?.note.by, "ann", "the newest")
        },
        Case("notes are purged with their watch") { bench in
            let key = try await bench.enqueued("1")
            try await bench.watches.note(WatchNote(.visit, "page"), of: key)
            _ = try await bench.watches.cancel(key)
            try await bench.advance(ms: 10_000)
            _ = try await bench.watches.purge(
                partition: bench.partition(of: key),
                retention: .seconds(5),
                refundableRetention: .zero
            )
            try await bench.enqueue(key)
            try equal(try await bench.watches.notes(of: key), [], "notes")
        },
    ]
}
