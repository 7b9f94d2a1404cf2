import Poller

extension QueueConformance {
    /// The order that is paid by a watch.
    static let orders: [ConformanceCase] = [
        ConformanceCase("the order that is paid goes to the worker, the reader and each event") {
            bench in
            let key = bench.key("1")
            let order = OrderID(unchecked: String(repeating: "A", count: OrderID.lengthMax))
            let secret = ClientSecret(unchecked: "src_1_client_secret_x")
            let new = try NewWatch(key: key, clientSecret: secret, charge: .whole, order: order)
            _ = try await bench.watches.enqueue([new])
            try bench.equal(try await bench.snapshot(key).watch.order, order, "as it is read")
            let lease = try await bench.take(key)
            try bench.equal(lease.item.order, order, "with the lease")
            try bench.equal(lease.item.clientSecret, secret, "the secret beside it")
            try bench.equal(lease.item.charge, .whole, "the order to charge beside it")
            _ = try await bench.commit(lease, .next(after: .zero), status: "pending")
            _ = try await bench.watches.cancel(key)
            let log = try await bench.watches.events(of: key, after: 0, limit: 10)
            try bench.equal(log.map(\.order), [order, order], "in the events")
        },
        ConformanceCase("the first order that is paid holds, whoever joins, until a restart") {
            bench in
            let key = bench.key("1")
            let (first, second) = (OrderID(unchecked: "A77"), OrderID(unchecked: "B78"))
            try await bench.enqueue(key)
            try bench.equal(try await bench.snapshot(key).watch.order, nil, "at first")
            for order in [first, second, nil] {
                _ = try await bench.watches.enqueue([try NewWatch(key: key, order: order)])
                try bench.equal(try await bench.snapshot(key).watch.order, first, "after a join")
            }
            for order in [second, nil] {
                _ = try await bench.watches.cancel(key)
                _ = try await bench.watches.enqueue([try NewWatch(key: key, order: order)])
                let watch = try await bench.snapshot(key).watch
                try bench.equal(watch.order, order, "after a restart")
            }
        },
        ConformanceCase("a watch that a hint opens again pays the same order") { bench in
            let key = bench.key("1")
            let order = OrderID(unchecked: "A77")
            _ = try await bench.watches.enqueue([try NewWatch(key: key, order: order)])
            _ = try await bench.commit(try await bench.take(key), .close(.expired))
            try bench.expect(try await bench.watches.hint(key), "it opens")
            try bench.equal(try await bench.take(key).item.order, order, "the order")
        },
    ]
}
