import RedisClient
import Testing

@testable import PollerRedis

@Suite("Requirements of Redis", .timeLimit(.minutes(5)))
struct RedisRequirementsTests {
    private typealias Fact = RedisRequirements.Fact

    @Test("a version below 7 or an evicting policy is refused; an unreadable fact is a warning")
    func verdicts() {
        func verdict(_ version: Fact, _ eviction: Fact) -> RedisRequirements.Verdict {
            RedisRequirements.verdict(version: version, eviction: eviction)
        }
        let good = verdict(.known("7.0.15"), .known("noeviction"))
        #expect(good.refusal == nil && good.warnings.isEmpty)
        #expect(verdict(.known("8.1.0"), .known("noeviction")) == good)
        #expect(
            verdict(.known("6.2.14"), .known("noeviction")).refusal?.contains("6.2.14 is too old")
                == true
        )
        let evicting = verdict(.known("7.0.15"), .known("volatile-lru")).refusal
        #expect(evicting?.contains("volatile-lru") == true)
        let hidden = verdict(.hidden("INFO is not allowed"), .hidden("CONFIG is not there"))
        #expect(hidden.refusal == nil)
        #expect(hidden.warnings.count == 2)
        #expect(hidden.warnings.first?.contains("INFO is not allowed") == true)
    }

    @Test("the eviction policy is read from INFO when CONFIG is not allowed")
    func policyWithoutConfig() async throws {
        try await withRedis(["--maxmemory-policy", "allkeys-lru"]) { client in
            try await forbid(["-config"], on: client)
            #expect(try await RedisRequirements.evictionPolicy(client) == .known("allkeys-lru"))
            #expect(
                try await RedisRequirements.check(client).refusal?.contains("allkeys-lru") == true
            )
        }
    }

    @Test("without INFO the version is read from HELLO and the policy from CONFIG GET")
    func versionWithoutInfo() async throws {
        try await withRedis(["--maxmemory-policy", "allkeys-lru"]) { client in
            let found = try await RedisRequirements.version(client)
            try await forbid(["-info"], on: client)
            #expect(try await RedisRequirements.version(client) == found)
            #expect(try await RedisRequirements.evictionPolicy(client) == .known("allkeys-lru"))
        }
    }

    @Test("a missing permission is named in a warning and does not prevent a start")
    func missingRights() async throws {
        try await withRedis { client in
            // HELLO is always allowed, because a client logs in with it.
            try await forbid(["-info", "-config", "-hello"], on: client)
            let verdict = try await RedisRequirements.check(client)
            #expect(verdict.refusal == nil)
            #expect(verdict.warnings.count == 1)
            #expect(verdict.warnings.first?.contains("ACL SETUSER <name> +info") == true)
            #expect(verdict.warnings.last?.contains("+config|get") == true)
            guard case .hidden(let why) = try await RedisRequirements.appendsOnly(client) else {
                return fail("persistence is known without INFO")
            }
            #expect(why.contains("+info"))
        }
    }

    @Test("renamed commands are reported as missing")
    func renamed() async throws {
        let renaming = [
            "--rename-command", "INFO", "INFO2", "--rename-command", "CONFIG", "CONFIG2",
        ]
        try await withRedis(renaming) { client in
            guard case .known = try await RedisRequirements.version(client) else {
                return fail("HELLO does not report the version")
            }
            guard case .hidden(let why) = try await RedisRequirements.evictionPolicy(client) else {
                return fail("the policy is known without INFO and CONFIG")
            }
            #expect(why.contains("no INFO") && why.contains("no CONFIG"))
        }
    }

    private func forbid(_ rights: [RedisArgument], on client: RedisClient) async throws {
        _ = try await client.send(RedisCommand("ACL", ["SETUSER", "default"] + rights))
    }
}
