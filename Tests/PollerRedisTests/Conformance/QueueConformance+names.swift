import PollerDeliveries
import PollerIdentity
import PollerTesting

extension QueueConformance {
    /// The names of registered endpoints.
    static let names: [ConformanceCase] = [
        Case("a name is unique among the endpoints of an account") { bench in
            let store = bench.harness.endpoints
            let first = try await bench.create(bench.endpoint("a") { $0.name = "crm" })
            try equal(first.name, "crm", "the name of the created endpoint")
            let twin = try bench.endpoint("b") { $0.name = "crm" }
            let refused = try await store.create(twin, request: nil)
            try equal(refused, .nameTaken(by: first.id), "the same name")
            try await bench.create(bench.endpoint("c", account: "acct_b") { $0.name = "crm" })
            try await bench.create(bench.endpoint("d") { $0.name = "CRM" })
            let counts = try await store.counts(of: [first.account])
            try equal(counts, [2], "endpoints of the account")
            _ = try await store.remove(first.id)
            let created = try await store.create(twin, request: nil)
            guard case .created = created else {
                throw ConformanceFailure(message: "the name of a removed endpoint: \(created)")
            }
        },
        Case("a name can be changed and freed, and changes of other fields keep it") { bench in
            let store = bench.harness.endpoints
            let first = try await bench.create(bench.endpoint("a") { $0.name = "crm" })
            let second = try await bench.create(bench.endpoint("b"))
            let edit = try await store.edit(second.id, while: { _ in true }) { endpoint, _ in
                endpoint.name = "crm"
            }
            try equal(edit, .nameTaken(by: first.id), "a rename to a name that is taken")
            try equal(try await bench.stored(second.id).endpoint.name, nil, "its name")
            _ = try await store.update(first.id) { endpoint, _ in endpoint.coalesces = true }
            let still = try await store.create(
                bench.endpoint("c") { $0.name = "crm" },
                request: nil
            )
            try equal(still, .nameTaken(by: first.id), "the name after another change")
            _ = try await store.update(first.id) { endpoint, _ in endpoint.name = "erp" }
            let renamed = try await store.update(second.id) { endpoint, _ in endpoint.name = "crm" }
            try equal(renamed?.name, "crm", "a name that was freed by a rename")
            _ = try await store.update(second.id) { endpoint, _ in endpoint.name = nil }
            try await bench.create(bench.endpoint("d") { $0.name = "crm" })
            let page = try await bench.list(limit: 9)
            let names = Set(page.items.compactMap(\.name))
            try equal(names, ["crm", "erp"], "names in a list")
        },
        Case("one of many simultaneous creations gets the name") { bench in
            let made = try await withThrowingTaskGroup(of: EndpointCreation.self) { group in
                for number in 0..<20 {
                    let endpoint = try bench.endpoint("n\(number)") { $0.name = "Lager Köln" }
                    group.addTask {
                        try await bench.harness.endpoints.create(endpoint, request: nil)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let winners = made.compactMap { creation in
                if case .created(let endpoint) = creation { endpoint.id } else { nil }
            }
            try equal(winners.count, 1, "endpoints created")
            let others = made.filter { $0 == .nameTaken(by: winners[0]) }
            try equal(others.count, 19, "creations rejected with the ID of the holder")
        },
    ]
}
