import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    /// The registered endpoints.
    static let registry: [ConformanceCase] = [
        Case("an endpoint is read as created, with the store's time") { bench in
            try await bench.advance(ms: 1234)
            let wanted = try bench.endpoint("full") { endpoint in
                endpoint.scope = try EndpointScope(
                    types: ["source.*", "charge.succeeded"],
                    sources: ["src_1", "src_2"],
                    metadata: ["order \"1\"": "ä\\"],
                    finalOnly: true
                )
                endpoint.coalesces = true
                endpoint.retry = try RetryChoice(waits: [.seconds(1), .seconds(60)])
                endpoint.timeout = .seconds(7)
                endpoint.limit = LaneLimit(ratePerSecond: 2.5, burst: 3, inFlightMax: 4)
                endpoint.headers = [try EndpointHeader("X-Key", "a b")]
                endpoint.payload = .thin
                endpoint.notifyBy = try Endpoint.NotifyBy(
                    within: .seconds(300),
                    fallback: EndpointID(unchecked: "ep_other")
                )
                endpoint.name = "Lager \"Köln\""
                endpoint.state = .disabled(
                    reason: "as \"told\"",
                    at: Timestamp(ms: 5),
                    by: .ourselves
                )
            }
            let created = try await bench.create(wanted)
            try equal(created, wanted.stamped(created.createdAt), "the created endpoint")
            let stored = try await bench.stored(wanted.id)
            try equal(stored.endpoint, created, "the stored endpoint")
            try equal(stored.now, created.createdAt, "the time of creation")
            let version = try await bench.harness.endpoints.version()
            try equal(stored.version, version, "version")
        },
        Case("the registry's version grows with every change, not with reads") { bench in
            let store = bench.harness.endpoints
            try equal(try await store.version(), 0, "the version of an empty registry")
            let endpoint = try await bench.create(bench.endpoint("a"))
            var seen = [try await store.version()]
            _ = try await store.disable(endpoint.id, reason: "x")
            seen.append(try await store.version())
            _ = try await store.enable(endpoint.id)
            seen.append(try await store.version())
            _ = try await store.remove(endpoint.id)
            seen.append(try await store.version())
            try equal(seen, Array(Set(seen)).sorted(), "versions")
            try equal(try await store.remove(endpoint.id), false, "removing it again")
            _ = try await store.read(endpoint.id)
            try equal(try await store.version(), seen.last, "the version after reading")
        },
        Case("a hundred parallel creations with one key create one endpoint") { bench in
            let request = bench.request("k")
            let made = try await withThrowingTaskGroup(of: EndpointCreation.self) { group in
                for number in 0..<100 {
                    let endpoint = try bench.endpoint("n\(number)")
                    group.addTask {
                        try await bench.harness.endpoints.create(endpoint, request: request)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            var ids: Set<EndpointID> = []
            var created = 0
            for creation in made {
                switch creation {
                case .created(let endpoint):
                    created += 1
                    ids.insert(endpoint.id)
                case .repeated(let endpoint, let isUntouched):
                    try bench.expect(isUntouched, "a repeat reports a change")
                    ids.insert(endpoint.id)
                default: try bench.expect(false, "\(creation)")
                }
            }
            try equal([created, ids.count], [1, 1], "creations and returned IDs")
            let page = try await bench.list(limit: 500)
            try equal(page.items.map(\.id), Array(ids), "listed endpoints")
        },
        Case("an idempotency key is valid for one request of one account") { bench in
            let first = try await bench.create(bench.endpoint("a"), bench.request("k"))
            let store = bench.harness.endpoints
            let other = try bench.endpoint("b")
            let otherRequest = try await store.create(
                other,
                request: bench.request("k", body: "other")
            )
            try equal(otherRequest, .conflict, "the key with another request")
            let account = bench.request("k", account: "acct_b")
            try equal(
                try await bench.create(other, account).id,
                other.id,
                "the key of another account"
            )
            _ = try await store.disable(first.id, reason: "x")
            let late = try await store.create(bench.endpoint("c"), request: bench.request("k"))
            guard case .repeated(let again, false) = late else {
                throw ConformanceFailure(message: "a repeat after a change: \(late)")
            }
            try equal(again.id, first.id, "the endpoint of the repeat")
            _ = try await store.remove(first.id)
            let gone = try await store.create(bench.endpoint("d"), request: bench.request("k"))
            try equal(gone, .conflict, "a repeat after the removal")
        },
        Case("an ID is registered once, and the number of endpoints is limited") { bench in
            let store = bench.harness.endpoints
            let first = try await bench.create(bench.endpoint("n0"))
            let twin = try bench.endpoint("other", id: first.id)
            try equal(try await store.create(twin, request: nil), .exists, "the same id")
            for number in 1..<RedisHarness.endpointsMax {
                try await bench.create(bench.endpoint("n\(number)"))
            }
            let excess = try bench.endpoint("excess")
            try equal(try await store.create(excess, request: nil), .tooMany, "one over the limit")
            _ = try await store.remove(first.id)
            try await bench.create(excess)
        },
        Case("the later of two simultaneous changes of an endpoint is rejected") { bench in
            let store = bench.harness.endpoints
            let endpoint = try await bench.create(bench.endpoint("a"))
            let stored = try await bench.stored(endpoint.id)
            var mine = stored.endpoint
            mine.coalesces = true
            var theirs = stored.endpoint
            theirs.payload = .thin
            try await bench.advance(ms: 10)
            let outcome = try await store.replace(mine, version: stored.version)
            guard case .replaced(let replaced) = outcome else {
                throw ConformanceFailure(message: "a change: \(outcome)")
            }
            try equal(replaced.updatedAt, stored.now + .milliseconds(10), "changed at")
            try equal(replaced.createdAt, endpoint.createdAt, "created at")
            let refused = try await store.replace(theirs, version: stored.version)
            try equal(refused, .changed, "the second change")
            let stale = try await store.remove(endpoint.id, version: stored.version)
            try equal(stale, .changed, "a removal of an old version")
            let newest = try await bench.stored(endpoint.id).version
            let removal = try await store.remove(endpoint.id, version: newest)
            try equal(removal, .removed, "a removal of the current version")
            let again = try await store.remove(endpoint.id, version: newest)
            try equal(again, .gone, "a repeated removal")
            let late = try await store.replace(mine, version: stored.version)
            try equal(late, .changed, "a change of a deleted endpoint")
        },
        Case("simultaneous changes all take effect") { bench in
            let store = bench.harness.endpoints
            let endpoint = try await bench.create(bench.endpoint("a"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        let header = try EndpointHeader("X-\(number)", "1")
                        _ = try await store.update(endpoint.id) { endpoint, _ in
                            endpoint.headers.append(header)
                        }
                    }
                }
                try await group.waitForAll()
            }
            let names = try await bench.stored(endpoint.id).endpoint.headers.map(\.name)
            try equal(names.sorted(), (0..<8).map { "X-\($0)" }, "headers")
        },
        Case("disabling keeps the first reason, and enabling clears it") { bench in
            let store = bench.harness.endpoints
            let endpoint = try await bench.create(bench.endpoint("a"))
            try await bench.advance(ms: 5)
            _ = try await store.disable(endpoint.id, reason: "one")
            try await bench.advance(ms: 5)
            let disabled = try await store.disable(endpoint.id, reason: "two")
            let at = endpoint.createdAt + .milliseconds(5)
            try equal(disabled?.state, .disabled(reason: "one", at: at), "state")
            try equal(try await store.enable(endpoint.id)?.state, .enabled, "state")
            let missing = EndpointID(unchecked: "ep_nobody")
            try equal(try await store.disable(missing, reason: "x"), nil, "an unknown endpoint")
        },
        Case("a refresh returns the endpoints changed or removed since a version") { bench in
            let store = bench.harness.endpoints
            let kept = try await bench.create(bench.endpoint("kept"))
            let changed = try await bench.create(bench.endpoint("changed"))
            let removed = try await bench.create(bench.endpoint("removed"))
            let all = try await store.changes(since: 0, isContinuing: false)
            try equal(Set(all.endpoints), [kept, changed, removed], "all endpoints")
            try equal(all.version, try await store.version(), "its version")
            let none = try await store.changes(since: all.version, isContinuing: false)
            try equal(none.endpoints.count + none.removed.count, 0, "changes since")
            let now = try await store.disable(changed.id, reason: "x")
            _ = try await store.remove(removed.id)
            let some = try await store.changes(since: all.version, isContinuing: false)
            try equal(some.endpoints, [try bench.some(now, "the changed one")], "changed")
            try equal(some.removed, [removed.id], "removed")
            try equal([some.isReset, some.hasMore], [false, false], "reset, more")
            let lost = try await store.changes(since: .max / 4, isContinuing: false)
            try bench.expect(
                lost.isReset,
                "a version of another registry is not answered with a reset"
            )
            try equal(lost.endpoints.count, 2, "endpoints after the reset")
        },
        Case("changes beyond one page are returned page by page, each once") { bench in
            let store = bench.harness.endpoints
            var wanted: Set<EndpointID> = []
            for number in 0..<250 {
                wanted.insert(try await bench.create(bench.endpoint("n\(number)")).id)
            }
            var received: [EndpointID] = []
            var page = try await store.changes(since: 0, isContinuing: false)
            received += page.endpoints.map(\.id)
            try bench.expect(page.hasMore, "the first page is the only one")
            while page.hasMore {
                page = try await store.changes(since: page.version, isContinuing: true)
                received += page.endpoints.map(\.id)
            }
            try equal(received.count, 250, "returned endpoints")
            try equal(Set(received), wanted, "returned endpoints")
        },
        Case("endpoints are listed by account, the newest first, page by page") { bench in
            for number in 0..<7 {
                let account = number % 2 == 0 ? "acct_a" : number == 1 ? "acct_b" : "acct"
                try await bench.create(bench.endpoint("n\(number)", account: account))
                try await bench.advance(ms: 1)
            }
            let accounts = AccountSet.some([
                AccountID(unchecked: "acct_a"), AccountID(unchecked: "acct_b"),
            ])
            var urls: [String] = []
            var cursor: String?
            repeat {
                let page = try await bench.list(accounts: accounts, limit: 2, cursor: cursor)
                try bench.expect(page.items.count <= 2, "a page is longer than its limit")
                urls += page.items.map(\.url.description)
                cursor = page.next
            } while cursor != nil
            let wanted = [6, 4, 2, 1, 0].map { "https://n\($0).example/hook" }
            try equal(urls, wanted, "the endpoints of the accounts")
            try equal(try await bench.list(limit: 7).items.count, 7, "all")
            do {
                _ = try await bench.list(limit: 2, cursor: "bm9uZSBvZiBvdXJz")
            } catch StoreError.unknownCursor { return }
            throw ConformanceFailure(message: "an invalid cursor was accepted")
        },
        Case("a delivery to a registered endpoint has its ID and no URL") { bench in
            let id = EndpointID(unchecked: "ep_registered")
            let mark = DeliveryMark(endpoint: id, watch: bench.key("1"))
            try await bench.deliveries.mark([mark])
            let lease = try await bench.take(mark)
            try equal(lease.item.endpoint, id, "endpoint")
            try equal(lease.item.url, nil, "URL")
            let state = DeliveryState(cursor: 3, failures: 1, attempts: 4)
            _ = try await bench.commit(lease, .rest, state)
            try await bench.deliveries.mark([mark])
            try equal(try await bench.take(mark).item.state, state, "state")
        },
    ]
}
