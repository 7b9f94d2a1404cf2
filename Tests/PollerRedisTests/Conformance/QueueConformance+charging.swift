import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    static let charging: [ConformanceCase] = [
        Case("a charge instruction reaches the worker, with or without the secret") { bench in
            let order = try ChargeInstruction(
                amount: 5,
                note: "a \"b\"",
                metadata: ["order": "4711"]
            )
            let secret = ClientSecret(unchecked: "src_1_client_secret_x")
            for (name, known) in [("1", secret), ("2", nil)] {
                let key = bench.key(name)
                let new = try NewWatch(key: key, clientSecret: known, charge: order)
                _ = try await bench.watches.enqueue([new])
                let lease = try await bench.take(key)
                try equal(lease.item.charge, order, "the order")
                try equal(lease.item.clientSecret, known, "the secret")
                let snapshot = try await bench.snapshot(key)
                try equal(snapshot.watch.charge, order, "the order in the snapshot")
                try equal(snapshot.watch.clientSecret, known, "the secret in the snapshot")
            }
        },
        Case("the first charge instruction applies to every join, until a restart") { bench in
            let key = bench.key("1")
            let first = try ChargeInstruction(amount: 1)
            let second = try ChargeInstruction(amount: 2)
            try await bench.enqueue(key)
            try equal(try await bench.snapshot(key).watch.charge, nil, "at first")
            _ = try await bench.watches.enqueue([try NewWatch(key: key, charge: first)])
            try equal(try await bench.snapshot(key).watch.charge, first, "after a join")
            let secret = ClientSecret(unchecked: "s_1")
            let more = try NewWatch(key: key, clientSecret: secret, charge: second)
            _ = try await bench.watches.enqueue([more])
            try await bench.enqueue(key)
            let joined = try await bench.snapshot(key).watch
            try equal(joined.charge, first, "after another order")
            try equal(joined.clientSecret, secret, "the secret that came with it")
            _ = try await bench.watches.cancel(key)
            try await bench.enqueue(key)
            try equal(try await bench.snapshot(key).watch.charge, nil, "after a restart")
            _ = try await bench.watches.cancel(key)
            _ = try await bench.watches.enqueue([try NewWatch(key: key, charge: second)])
            try equal(try await bench.snapshot(key).watch.charge, second, "of a restart")
        },
        Case("a request for no charge is kept until another orders one") { bench in
            let key = bench.key("1")
            for (order, holds) in [
                (ChargeInstruction.nothing, ChargeInstruction.nothing),
                (nil, .nothing), (.nothing, .nothing), (.whole, .whole), (.nothing, .whole),
            ] {
                _ = try await bench.watches.enqueue([try NewWatch(key: key, charge: order)])
                try equal(try await bench.snapshot(key).watch.charge, holds, "the order")
            }
        },
        Case("the progress of a charge and the detail are read back as stored") { bench in
            let key = bench.key("1")
            let id = ChargeID(unchecked: "ch_3P0000000000000000000000")
            _ = try await bench.watches.enqueue([try NewWatch(key: key, charge: .whole)])
            for (progress, detail) in [
                (ChargeProgress.none, ""), (.none, "1a2b3c4"), (.doubtful, ""),
                (.pending(id), "1a2b3c4"), (.succeeded(id), ""), (.failed, "1a2b3c4"),
            ] {
                let lease = try await bench.take(key)
                var state = lease.item.state
                state.charge = progress
                if progress == .doubtful { state.chargeAttempt = "aB-_9z" }
                state.detail = detail
                let change = WatchChange(state: state)
                let commit = Commit(ref: lease.ref, verdict: .next(after: .zero), change: change)
                _ = try await bench.watches.commit([commit])
                let kept = try await bench.snapshot(key).watch
                try equal(kept.state.charge, progress, "the progress")
                try equal(kept.state.chargeAttempt, state.chargeAttempt, "the attempt")
                try equal(kept.state.detail, detail, "the detail")
                try equal(kept.charge, .whole, "the order")
            }
        },
    ]
}
