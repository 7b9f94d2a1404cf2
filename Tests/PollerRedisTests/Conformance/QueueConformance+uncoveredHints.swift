import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    /// Hints to an open watch: the poll that closes it may have missed the change.
    static let uncoveredHints: [ConformanceCase] = [
        Case("a money hint starts a review if the closing poll saw no money") { bench in
            for seesMoney in [true, false] {
                let key = bench.key("\(seesMoney)")
                let memory = try await bench.openPaid(key)
                try equal(try await bench.watches.hint(key, of: .money), true, "hint")
                let last = bench.end(try await bench.take(key), seesMoney: seesMoney)
                try equal(try await bench.watches.commit([last]), [.done], "the closing commit")
                // A lost reply: the same commit once more.
                try equal(try await bench.watches.commit([last]), [.done], "repeated")
                if !seesMoney {
                    let lease = try await bench.takeReview(key, run: 2, endedAs: .settled)
                    try equal(lease.item.payment, memory, "the stored payment")
                    try equal(lease.item.hintedAt, lease.claimedAt, "hinted at")
                    try equal(lease.due, lease.claimedAt, "due")
                    _ = try await bench.commit(lease, .close(.settled))
                }
                try equal(try await bench.snapshot(key).closed, .settled, "closed")
                try equal(try await bench.snapshot(key).watch.seq, 2, "seq")
                try equal(try await bench.due(key), [], "due")
            }
        },
        Case("a money hint during the closing poll or a review starts another review") { bench in
            let key = bench.key("1")
            _ = try await bench.openPaid(key)
            for run in 1...3 {
                let lease = try await bench.take(key)
                try equal(lease.item.run, run, "run")
                try equal(lease.item.isReview, run > 1, "review")
                _ = try await bench.watches.hint(key, of: .money)
                let last = bench.end(lease, tells: run == 1, seesMoney: true)
                try equal(try await bench.watches.commit([last]), [.done], "the closing commit")
            }
            _ = try await bench.commit(
                try await bench.takeReview(key, run: 4, endedAs: .settled),
                .close(.settled)
            )
            try equal(try await bench.snapshot(key).closed, .settled, "closed")
        },
        Case("a hint during the closing poll reopens the watch if a later one would") { bench in
            // A hint during the poll that reached the goal requests another poll.
            for reason in ClosedReason.allCases where reason != .reached {
                for (news, isUnpaid) in [
                    (HintTopic.anything, false), (.outcome, false), (.outcome, true),
                    (.money, false),
                ] {
                    let key = bench.key("\(reason.rawValue)-\(news)-\(isUnpaid)")
                    let what = "\(reason) \(news) \(isUnpaid)"
                    _ = try await bench.openPaid(key, isUnpaid: isUnpaid, timeout: .seconds(5))
                    try await bench.advance(ms: 6000)
                    let lease = try await bench.take(key)
                    _ = try await bench.watches.hint(key, of: news)
                    let last = bench.end(lease, reason, seesMoney: true)
                    try equal(try await bench.watches.commit([last]), [.done], what)
                    let isAnswer = reason == .settled
                    let isOpened =
                        reason == .expired || reason == .gone && news != .anything
                        || isAnswer && (news == .money || news == .outcome && isUnpaid)
                    try equal(try await bench.snapshot(key).closed, isOpened ? nil : reason, what)
                    guard isOpened else { continue }
                    let again = try await bench.takeReview(
                        key,
                        run: 2,
                        endedAs: isAnswer ? reason : nil
                    )
                    try equal(again.item.deadline - again.item.createdAt, .seconds(5), "span")
                    _ = try await bench.commit(again, .close(reason))
                    try equal(try await bench.snapshot(key).closed, reason, what)
                }
            }
        },
        Case("a money hint survives a crash of the owner, and the next owner polls for it") {
            bench in
            for seesMoney in [true, false] {
                let key = bench.key("\(seesMoney)")
                _ = try await bench.openPaid(key)
                let dead = try await bench.take(key)
                _ = try await bench.watches.hint(key, of: .money)
                // A less important hint adds nothing to the pending one.
                _ = try await bench.watches.hint(key, of: .anything)
                try await bench.harness.advance(by: dead.endsAt - dead.claimedAt)
                let last = bench.end(try await bench.take(key), seesMoney: seesMoney)
                try equal(try await bench.watches.commit([last]), [.done], "the closing commit")
                if !seesMoney {
                    let lease = try await bench.takeReview(key, run: 2, endedAs: .settled)
                    _ = try await bench.commit(lease, .close(.settled))
                }
                try equal(try await bench.snapshot(key).closed, .settled, "closed")
            }
        },
        Case("a money hint of a gone watch starts a review after the object was found") { bench in
            let key = bench.key("1")
            let memory = try await bench.openPaid(key)
            try await bench.handle(key, .close(.gone))
            _ = try await bench.watches.hint(key, of: .money)
            let found = bench.end(try await bench.take(key), memory: memory)
            try equal(try await bench.watches.commit([found]), [.done], "the closing commit")
            let lease = try await bench.takeReview(key, run: 3, endedAs: .settled)
            _ = try await bench.commit(lease, .close(.settled))
            try equal(try await bench.snapshot(key).closed, .settled, "closed")
        },
        Case(
            "a lease has the most important hint until a later poll has covered it"
        ) { bench in
            let key = bench.key("1")
            _ = try await bench.openPaid(key)
            var lease = try await bench.take(key)
            try equal(lease.item.pendingHint, nil, "at first")
            for (news, shown) in [
                (HintTopic.anything, HintTopic.anything), (.outcome, .outcome), (.money, .money),
                (.outcome, .money), (.anything, .money),
            ] {
                _ = try await bench.watches.hint(key, of: news)
                // The poll began before the hint.
                let early = bench.end(lease, goesOn: true, seesMoney: true)
                try equal(try await bench.watches.commit([early]), [.done], "\(news)")
                lease = try await bench.take(key)
                try equal(lease.item.pendingHint, shown, "after \(news)")
            }
            let blind = bench.end(lease, tells: false, goesOn: true)
            try equal(
                try await bench.watches.commit([blind]),
                [.done],
                "the commit of a poll without the money"
            )
            lease = try await bench.take(key)
            try equal(lease.item.pendingHint, .money, "after a poll without the money")
            let clear = bench.end(lease, tells: false, goesOn: true, seesMoney: true)
            try equal(
                try await bench.watches.commit([clear]),
                [.done],
                "the commit of a poll with the money"
            )
            try equal(
                try await bench.snapshot(key).watch.pendingHint,
                nil,
                "the hint in the snapshot"
            )
            // After a lost reply, the commit is repeated when another hint has arrived.
            _ = try await bench.watches.hint(key, of: .money)
            _ = try await bench.watches.commit([clear])
            lease = try await bench.take(key)
            try equal(lease.item.pendingHint, .money, "after a repeated commit")
            _ = try await bench.watches.commit([bench.end(lease, seesMoney: true)])
            try equal(try await bench.snapshot(key).closed, .settled, "closed")
        },
        Case("a hint applies only to the run in which it arrived") { bench in
            let key = bench.key("1")
            let memory = try await bench.openPaid(key)
            _ = try await bench.watches.hint(key, of: .money)
            _ = try await bench.watches.cancel(key)
            try await bench.enqueue(key)
            var last = bench.end(try await bench.take(key), memory: memory)
            try equal(try await bench.watches.commit([last]), [.done], "the closing commit")
            try equal(try await bench.snapshot(key).closed, .settled, "closed after a restart")

            try await bench.enqueue(key)
            let lease = try await bench.take(key)
            _ = try await bench.watches.hint(key, of: .money)
            _ = try await bench.commit(lease, .close(.dead))
            try equal(try await bench.watches.redrive(key), true, "the redrive")
            last = bench.end(try await bench.take(key), memory: memory)
            try equal(try await bench.watches.commit([last]), [.done], "the closing commit")
            try equal(try await bench.snapshot(key).closed, .settled, "closed after a redrive")
        },
    ]
}

extension ConformanceBench {
    /// Starts a watch whose payment one poll has recorded; money has arrived or is only expected.
    fileprivate func openPaid(
        _ key: WatchKey,
        isUnpaid: Bool = false,
        timeout: Duration = .seconds(3600)
    ) async throws -> PaymentMemory {
        try await enqueue(key, timeout: timeout)
        let memory =
            isUnpaid
            ? PaymentMemory(payment: "k3f9a2", step: "abcdef")
            : PaymentMemory(payment: "k3f9a2", money: money)
        let first = eventCommit(try await take(key), [.status], .next(after: .zero), memory)
        try equal(try await watches.commit([first]), [.done], "the first commit")
        return memory
    }

    /// Creates the commit of a poll that closes a watch.
    fileprivate func end(
        _ lease: Lease<Watch>,
        _ reason: ClosedReason = .settled,
        tells: Bool = true,
        goesOn: Bool = false,
        memory: PaymentMemory? = nil,
        seesMoney: Bool = false
    ) -> Commit<WatchChange> {
        let commit = eventCommit(
            lease,
            tells ? [.status] : [],
            goesOn ? .next(after: .zero) : .close(reason),
            memory ?? lease.item.payment
        )
        var change = commit.change
        change.seesMoney = seesMoney
        return Commit(ref: commit.ref, verdict: commit.verdict, change: change)
    }

    /// Claims a watch that was reopened at once, for a poll of the missed change.
    fileprivate func takeReview(
        _ key: WatchKey,
        run: Int,
        endedAs reason: ClosedReason?
    ) async throws -> Lease<Watch> {
        let lease = try await take(key)
        try equal(lease.item.run, run, "run")
        try equal(lease.item.endedAs, reason, "the close reason before the reopening")
        try equal(lease.item.reopenedSeq, lease.item.seq, "seq at the reopening")
        return lease
    }
}
