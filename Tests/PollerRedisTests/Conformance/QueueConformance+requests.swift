import PollerIdentity
import PollerOperations
import PollerTesting

extension QueueConformance {
    /// Requests with an idempotency key.
    static let idempotentRequests: [ConformanceCase] = [
        Case("one of many simultaneous claims of a request is granted") { bench in
            let requests = bench.harness.requests
            let claims = try await withThrowingTaskGroup(of: RequestClaim.self) { group in
                for number in 0..<16 {
                    group.addTask {
                        try await requests.claim(.named("a"), owner: "owner\(number)")
                    }
                }
                return try await group.reduce(into: [RequestClaim]()) { $0.append($1) }
            }
            let granted = claims.count { if case .granted = $0 { true } else { false } }
            try equal(granted, 1, "granted")
            let waiting = claims.count { $0 == .inUse(for: IdempotentRequest.lease) }
            try equal(waiting, 15, "claims rejected with the remaining time")
        },
        Case("each repeat within a day gets the same response, byte for byte") { bench in
            let requests = bench.harness.requests
            // An encrypted response may hold any byte.
            let answer: [UInt8] = Array(0...255) + Array("k c 1\n\r\n".utf8)
            let claim = try await requests.claim(.named("a"), owner: "one")
            try equal(claim, .granted(seed: "one"), "the first")
            try equal(
                try await requests.keep(answer, of: "a", owner: "one"),
                true,
                "the response is kept"
            )
            try await bench.advance(ms: Int(IdempotentRequest.span.ms) - 60_000)
            for owner in ["one", "two"] {
                let repeated = try await requests.claim(.named("a"), owner: owner)
                try equal(repeated, .kept(answer), "a repeat")
            }
            try equal(
                try await requests.keep([1], of: "a", owner: "one"),
                false,
                "another response is kept"
            )
            try await requests.release("a", owner: "one", forgets: true)
            let repeated = try await requests.claim(.named("a"), owner: "three")
            try equal(repeated, .kept(answer), "a repeat after a late release")
        },
        Case("a name used for another request is rejected, before and after the response") {
            bench in
            let requests = bench.harness.requests
            let other = IdempotentRequest.named("a", for: "other")
            _ = try await requests.claim(.named("a"), owner: "one")
            try equal(try await requests.claim(other, owner: "two"), .reused, "claimed")
            _ = try await requests.keep([], of: "a", owner: "one")
            try equal(try await requests.claim(other, owner: "two"), .reused, "after the response")
            try equal(try await requests.claim(.named("a"), owner: "two"), .kept([]), "same")
            let free = try await requests.claim(.named("b", for: "other"), owner: "two")
            try equal(free, .granted(seed: "two"), "another name")
        },
        Case("an expired claim passes to another owner with the same seed") { bench in
            let requests = bench.harness.requests
            _ = try await requests.claim(.named("a"), owner: "one")
            try await bench.advance(ms: Int(IdempotentRequest.lease.ms) - 1)
            let early = try await requests.claim(.named("a"), owner: "two")
            try equal(early, .inUse(for: .milliseconds(1)), "just before the end")
            try await bench.advance(ms: 1)
            let later = try await requests.claim(.named("a"), owner: "two")
            try equal(later, .granted(seed: "one"), "after the end")
            try equal(
                try await requests.keep([1], of: "a", owner: "one"),
                false,
                "the response of the former owner is kept"
            )
            try await requests.release("a", owner: "one", forgets: true)
            let still = try await requests.claim(.named("a"), owner: "three")
            let inUse = RequestClaim.inUse(for: IdempotentRequest.lease)
            try equal(still, inUse, "a release by the former owner")
            try equal(
                try await requests.keep([2], of: "a", owner: "two"),
                true,
                "the response of the owner is kept"
            )
            try equal(
                try await requests.claim(.named("a"), owner: "x"),
                .kept([2]),
                "the kept response"
            )
        },
        Case("a rejected request is deleted, a doubtful one keeps its seed") { bench in
            let requests = bench.harness.requests
            let other = IdempotentRequest.named("a", for: "other")
            _ = try await requests.claim(.named("a"), owner: "one")
            try await requests.release("a", owner: "one", forgets: true)
            let fresh = try await requests.claim(other, owner: "two")
            try equal(fresh, .granted(seed: "two"), "the name of a rejected request")
            try await requests.release("a", owner: "two", forgets: false)
            let again = try await requests.claim(other, owner: "three")
            try equal(again, .granted(seed: "two"), "a doubtful request, at once")
            // The effects of the first request are unknown, so the second one forgets nothing.
            try await requests.release("a", owner: "three", forgets: true)
            let last = try await requests.claim(other, owner: "four")
            try equal(last, .granted(seed: "two"), "a doubtful request that was rejected later")
            let first = try await requests.claim(.named("a"), owner: "five")
            try equal(first, .reused, "another request with that name")
        },
    ]
}

extension IdempotentRequest {
    /// Creates a request with a name and a fingerprint.
    fileprivate static func named(_ name: String, for body: String = "body") -> IdempotentRequest {
        IdempotentRequest(name: name, fingerprint: body, isTakenWhenFull: false)
    }
}
