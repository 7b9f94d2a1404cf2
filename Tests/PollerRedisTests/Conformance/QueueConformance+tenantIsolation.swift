import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    static let tenantIsolation: [ConformanceCase] = [
        Case("pages for some accounts do not depend on the watches of others") { bench in
            let own = bench.keys(0..<5, account: "acct_own")
            try await bench.enqueueFound(own)
            for key in own.prefix(2) {
                _ = try await bench.watches.cancel(key)
                try await bench.advance(ms: 10)
            }
            let alone = try await bench.ownPages()
            for number in 0..<40 {
                let keys = bench.keys(0..<8, "other", account: "acct_\(number)")
                try await bench.enqueueFound(keys)
                for key in keys.prefix(6) { _ = try await bench.watches.cancel(key) }
            }
            let shared = try await bench.ownPages()
            try equal(shared.count, alone.count, "lists")
            for (alone, shared) in zip(alone, shared) { try equal(shared, alone, "pages") }
        },
        Case("endpoints and deliveries of other accounts are not found by their IDs") { bench in
            let endpoint = try await bench.create(try bench.endpoint("a"))
            let (own, others) = (
                AccountSet.some([endpoint.account]),
                AccountSet.some([AccountID(unchecked: "acct_b"), AccountID(unchecked: "acct")])
            )
            let registry = bench.harness.endpoints
            let found = try await registry.read(endpoint.id, of: own)?.endpoint.id
            try equal(found, endpoint.id, "the endpoint")
            for accounts in [others, .some([])] {
                let found = try await registry.read(endpoint.id, of: accounts)
                try equal(found?.endpoint.id, nil, "the endpoint for other accounts")
            }
            let mark = DeliveryMark(endpoint: endpoint.id, watch: bench.key("1"))
            try await bench.deliveries.mark([mark])
            let id = bench.deliveries.id(of: mark.endpoint, mark.watch)
            try equal(try await bench.deliveries.delivery(id, of: own)?.id, id, "delivery")
            for accounts in [others, .some([])] {
                let found = try await bench.deliveries.delivery(id, of: accounts)
                try equal(found?.id, nil, "the delivery for other accounts")
                for endpoint in [endpoint.id, nil] {
                    let query = DeliveryQuery(endpoint: endpoint, accounts: accounts)
                    let page = try await bench.deliveries.deliveries(query)
                    try equal(page.items.count, 0, "deliveries for other accounts")
                }
            }
            let query = DeliveryQuery(accounts: own)
            let page = try await bench.deliveries.deliveries(query)
            try equal(page.items.map(\.id), [id], "deliveries")
        },
        Case("a delivery to one endpoint is claimed before a large fan-out") { bench in
            let one = try bench.mark("1", "one.example")
            let many = try bench.neighbours(of: one, 40)
            try await bench.deliveries.mark(many)
            try await bench.advance(ms: 50)
            try await bench.deliveries.mark([one])
            let leases = try await bench.claim(one, limit: 5).leases
            try equal(leases.count, 5, "leases")
            try equal(
                leases.contains { $0.item.endpoint == one.endpoint },
                true,
                "the delivery to one endpoint is claimed"
            )
            // A second event for one of the many keeps its urgency.
            let besides = DeliveryMark(endpoint: many[39].endpoint, watch: many[39].watch)
            try await bench.deliveries.mark([besides])
            try await bench.deliveries.mark([many[39]])
            let next = try await bench.claim(one, limit: 5).leases.map(\.item.endpoint)
            try equal(
                next.contains(besides.endpoint),
                true,
                "the delivery that became urgent is claimed"
            )
            var rest = 0
            while case let leases = try await bench.claim(one, limit: 64).leases, !leases.isEmpty {
                rest += leases.count
            }
            try equal(rest, 31, "the other deliveries")
        },
    ]
}

extension ConformanceBench {
    /// Returns marks that are not urgent, of endpoints in the partition of another mark.
    fileprivate func neighbours(of mark: DeliveryMark, _ count: Int) throws -> [DeliveryMark] {
        let partition = harness.partition(of: LaneID(endpoint: mark.endpoint))
        var found: [DeliveryMark] = []
        var number = 0
        while found.count < count {
            number += 1
            let url = "https://many.example/\(number)"
            let endpoint = EndpointID(account: mark.watch.account, url: url)
            guard harness.partition(of: LaneID(endpoint: endpoint)) == partition else { continue }
            found.append(DeliveryMark(endpoint: endpoint, watch: mark.watch, isUrgent: false))
        }
        return found
    }

    /// Enqueues watches with the same order and customer.
    fileprivate func enqueueFound(_ keys: [WatchKey]) async throws {
        let metadata = "{\"order\":\"A77\",\"customer\":\"Jane Doe\"}"
        _ = try await watches.enqueue(keys.map { try NewWatch(key: $0, metadata: metadata) })
    }

    /// Returns the pages of one account: the sources, and whether there is a next page.
    fileprivate func ownPages() async throws -> [[String]] {
        var all: [[String]] = []
        let texts: [String?] = [nil, "order=A77", "status!=x", "kind=source", "src_other1"]
        for limit in [1, 2, 3, 5, 50] {
            for state in [nil, .open, .closed, .quarantined] as [ListQuery.State?] {
                for text in texts {
                    let base = ListQuery(
                        state: state,
                        accounts: .some([AccountID(unchecked: "acct_own")]),
                        search: try text.map { try search($0) },
                        limit: limit
                    )
                    all.append(try await pages(base))
                }
            }
        }
        return all
    }

    private func pages(_ query: ListQuery) async throws -> [String] {
        var pages: [String] = []
        var cursor: String?
        repeat {
            let page = try await watches.list(
                ListQuery(
                    state: query.state,
                    accounts: query.accounts,
                    search: query.search,
                    limit: query.limit,
                    cursor: cursor
                )
            )
            let sources = page.items.map(\.watch.key.source.description)
            pages.append("\(sources) \(page.next == nil ? "end" : "more")")
            cursor = page.next
        } while cursor != nil
        return pages
    }
}
