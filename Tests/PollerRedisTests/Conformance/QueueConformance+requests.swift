import PollerIdentity
import PollerOperations
import PollerTesting

extension QueueConformance {
    /// Requests with an idempotency key.
    static let idempotentRequests: [ConformanceCase] = [
        ConformanceCase("one of many simultaneous claims of a request is granted") { bench in
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
            try bench.equal(granted, 1, "granted")
            let waiting = claims.count { $0 == .inUse(for: IdempotentRequest.lease) }
            try bench.equal(waiting, 15, "claims rejected with the remaining time")
        },
        ConformanceCase("each repeat within a day gets the same response, byte for byte") {
            bench in
            let requests = bench.harness.requests
            // An encrypted response may hold any byte.
            let answer: [UInt8] = Array(0...255) + Array("k c 1\n\r\n".utf8)
            let claim = try await requests.claim(.named("a"), owner: "one")
            try bench.equal(claim, .granted(seed: "one"), "the first")
            try bench.equal(
                try await requests.keep(answer, of: "a", owner: "one"),
                true,
                "the response is kept"
            )
            try await bench.advance(ms: Int(IdempotentRequest.span.ms) - 60_000)
            for owner in ["one", "two"] {
                let repeated = try await requests.claim(.named("a"), owner: owner)
                try bench.equal(repeated, .kept(answer), "a repeat")
            }
            try bench.equal(
                try await requests.keep([1], of: "a", owner: "one"),
                false,
                "another response is kept"
            )
            try await requests.release("a", owner: "one", forgets: true)
            let repeated = try await requests.claim(.named("a"), owner: "three")
            try bench.equal(repeated, .kept(answer), "a repeat after a late release")
        },
        ConformanceCase(
            "a name used for another request is rejected, before and after the response"
        ) {
            bench in
            let requests = bench.harness.requests
            let other = IdempotentRequest.named("a", for: "other")
            _ = try await requests.claim(.named("a"), owner: "one")
            try bench.equal(try await requests.claim(other, owner: "two"), .reused, "claimed")
            _ = try await requests.keep([], of: "a", owner: "one")
            try bench.equal(
                try await requests.claim(other, owner: "two"),
                .reused,
                "after the response"
            )
            try bench.equal(try await requests.claim(.named("a"), owner: "two"), .kept([]), "same")
            let free = try await requests.claim(.named("b", for: "other"), owner: "two")
            try bench.equal(free, .granted(seed: "two"), "another name")
        },
        ConformanceCase("an expired claim passes to another owner with the same seed") {
            bench in
            let requests = bench.harness.requests
            _ = try await requests.claim(.named("a"), owner: "one")
            try await bench.advance(ms: Int(IdempotentRequest.lease.ms) - 1)
            let early = try await requests.claim(.named("a"), owner: "two")
            try bench.equal(early, .inUse(for: .milliseconds(1)), "just before the end")
            try await bench.advance(ms: 1)
            let later = try await requests.claim(.named("a"), owner: "two")
            try bench.equal(later, .granted(seed: "one"), "after the end")
            try bench.equal(
                try await requests.keep([1], of: "a", owner: "one"),
                false,
                "the response of the former owner is kept"
            )
            try await requests.release("a", owner: "one", forgets: true)
            let still = try await requests.claim(.named("a"), owner: "three")
            let inUse = RequestClaim.inUse(for: IdempotentRequest.lease)
            try bench.equal(still, inUse, "a release by the former owner")
            try bench.equal(
                try await requests.keep([2], of: "a", owner: "two"),
                true,
                "the response of the owner is kept"
            )
            try bench.equal(
                try await requests.claim(.named("a"), owner: "x"),
                .kept([2]),
                "the kept response"
            )
        },
        ConformanceCase("a rejected request is deleted, a doubtful one keeps its seed") { bench in
            let requests = bench.harness.requests
            let other = IdempotentRequest.named("a", for: "other")
            _ = try await requests.claim(.named("a"), owner: "one")
            try await requests.release("a", owner: "one", forgets: true)
            let fresh = try await requests.claim(other, owner: "two")
            try bench.equal(fresh, .granted(seed: "two"), "the name of a rejected request")
            try await requests.release("a", owner: "two", forgets: false)
            let again = try await requests.claim(other, owner: "three")
            try bench.equal(again, .granted(seed: "two"), "a doubtful request, at once")
            // The effects of the first request are unknown, so the second one forgets nothing.
            try await requests.release("a", owner: "three", forgets: true)
            let last = try await requests.claim(other, owner: "four")
            try bench.equal(
                last,
                .granted(seed: "two"),
                "a doubtful request that was rejected later"
            )
            let first = try await requests.claim(.named("a"), owner: "five")
            try bench.equal(first, .reused, "another request with that name")
        },
    ]
}

extension IdempotentRequest {
    /// Creates a request with a name and a fingerprint.
    fileprivate static func named(_ name: String, for body: String = "body") -> IdempotentRequest {
        IdempotentRequest(name: name, fingerprint: body, isTakenWhenFull: false)
    }
}
