import Foundation
package import PollerQueue
package import RedisClient
import SafeNumbers

/// The requirements for a Redis server, and how they are checked.
///
/// *Problem*: hardened and managed servers support only some commands. `INFO` and `CONFIG` are in the ACL category
/// `@dangerous`, some services offer no `CONFIG`, and any command may be renamed.
///
/// *Approach*: each fact is read from the first command that returns it. A fact that no command returns is reported
/// with the missing permission, and does not prevent a start: the store itself works without it.
///
/// | fact | read from |
/// |---|---|
/// | version | `INFO server`, else `HELLO` |
/// | eviction policy | `INFO memory`, else `CONFIG GET maxmemory-policy` |
/// | persistence | `INFO persistence` |
///
/// *Source*: <https://redis.io/docs/latest/commands/info/>, <https://redis.io/docs/latest/commands/hello/>, and the
/// categories of commands in <https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/>.
package enum RedisRequirements {
    /// The lowest supported version; functions and the flags of scripts came with 7.0.
    package static let majorVersionMin = 7

    /// A fact about the masters.
    package enum Fact: Hashable, Sendable {
        /// The value that decides: the oldest version, the worst policy.
        case known(String)
        /// No command returned the fact; names the missing permission or command, for an operator.
        case hidden(String)
    }

    /// The consequence of the facts.
    package struct Verdict: Hashable, Sendable {
        /// Why the servers cannot be used, and what to do; `nil` if they can.
        package let refusal: String?
        /// The facts that could not be checked, a sentence each.
        package let warnings: [String]
    }

    /// Reads the facts and evaluates them.
    ///
    /// - Throws: ``StoreError`` while the servers do not respond, for example while they load their data.
    package static func check(_ client: RedisClient) async throws(StoreError) -> Verdict {
        verdict(version: try await version(client), eviction: try await evictionPolicy(client))
    }

    /// Evaluates the facts.
    static func verdict(version: Fact, eviction: Fact) -> Verdict {
        var warnings: [String] = []
        switch version {
        case .known(let text) where !isRecent(text):
            return Verdict(
                refusal:
                    "Redis \(text) is too old: version \(majorVersionMin).0 or newer is needed",
                warnings: []
            )
        case .known: break
        case .hidden(let why): warnings.append("the version of Redis cannot be checked: \(why)")
        }
        switch eviction {
        case .known("noeviction"): break
        case .known(let policy):
            return Verdict(
                refusal:
                    "Redis has maxmemory-policy \(policy) and would drop payments when memory is "
                    + "short: run CONFIG SET maxmemory-policy noeviction (and write it to redis.conf; of "
                    + "a managed service, set it among its parameters), then start again",
                warnings: []
            )
        case .hidden(let why):
            warnings.append(
                "the eviction policy of Redis cannot be checked, make sure that it is noeviction: \(why)"
            )
        }
        return Verdict(refusal: nil, warnings: warnings)
    }

    /// Returns whether a version is new enough.
    package static func isRecent(_ version: String) -> Bool {
        Int(decimal: version.prefix { $0 != "." }).map { $0 >= majorVersionMin } ?? false
    }

    /// Returns the version, such as `7.0.15`; the oldest of several servers.
    package static func version(_ client: RedisClient) async throws(StoreError) -> Fact {
        try await fact(
            from: [.info("server", "redis_version"), .hello("version")],
            of: client
        ) { versions in
            versions.min { $0.compare($1, options: .numeric) == .orderedAscending }
        }
    }

    /// Returns the eviction policy; of several servers the first that is not `noeviction`.
    package static func evictionPolicy(_ client: RedisClient) async throws(StoreError) -> Fact {
        try await fact(
            from: [.info("memory", "maxmemory_policy"), .configuration("maxmemory-policy")],
            of: client
        ) { policies in
            policies.first { $0 != "noeviction" } ?? policies.first
        }
    }

    /// Returns `1` if every server keeps an append-only file, else `0`.
    package static func appendsOnly(_ client: RedisClient) async throws(StoreError) -> Fact {
        try await fact(from: [.info("persistence", "aof_enabled")], of: client) { $0.min() }
    }

    /// Returns `ok` if every server has written its append-only file, else the first other status.
    package static func lastAppend(_ client: RedisClient) async throws(StoreError) -> Fact {
        let source = Source.info("persistence", "aof_last_write_status")
        return try await fact(from: [source], of: client) { states in
            states.first { $0 != "ok" } ?? states.first
        }
    }

    /// Returns the highest share of its memory limit that a master uses.
    ///
    /// Returns `nil` if no master has a limit, or none reports one.
    package static func memoryUsed(_ client: RedisClient) async throws(StoreError) -> Double? {
        let replies: [RedisNodeReply]
        do throws(RedisError) {
            replies = try await client.sendToMasters(RedisCommand("INFO", ["memory"]))
        } catch {
            throw StoreError(error)
        }
        return replies.compactMap { reply in
            guard let most = field("maxmemory", of: reply.reply).flatMap(Double.init), most > 0
            else { return nil }
            return field("used_memory", of: reply.reply).flatMap(Double.init).map { $0 / most }
        }.max()
    }

    /// A command that returns a fact, and the permission that an ACL user needs for it.
    private struct Source {
        let command: RedisCommand
        let permission: String
        let read: (RedisValue) -> String?

        /// A field of a section of INFO.
        static func info(_ section: String, _ name: String) -> Source {
            Source(command: RedisCommand("INFO", [.string(section)]), permission: "info") {
                RedisRequirements.field(name, of: $0)
            }
        }

        /// A parameter, which CONFIG GET returns after its name.
        static func configuration(_ name: String) -> Source {
            Source(
                command: RedisCommand("CONFIG", ["GET", .string(name)]),
                permission: "config|get"
            ) { $0.array?.last?.string }
        }

        /// A field of HELLO, which returns alternating names and values in RESP2.
        static func hello(_ name: String) -> Source {
            Source(command: RedisCommand("HELLO"), permission: "hello") { reply in
                let parts = reply.array ?? []
                guard let at = parts.firstIndex(where: { $0.string == name }) else { return nil }
                return parts.dropFirst(at + 1).first?.string
            }
        }

        /// Returns how an operator can enable the command.
        func advice(on error: RedisReplyError) -> String {
            if error.kind == .notPermitted {
                return
                    "\(command.name) is not allowed to this user: ACL SETUSER <name> +\(permission)"
            }
            return error.message.lowercased().hasPrefix("unknown command")
                ? "this server has no \(command.name), or another name for it"
                : "\(command.name) is answered \(error)"
        }
    }

    /// Returns the value that `deciding` selects among those of all masters, from the first source that all of them
    /// have.
    private static func fact(
        from sources: [Source],
        of client: RedisClient,
        deciding: ([String]) -> String?
    ) async throws(StoreError) -> Fact {
        var reasons: [String] = []
        for source in sources {
            let replies: [RedisNodeReply]
            do throws(RedisError) {
                replies = try await client.sendToMasters(source.command)
            } catch {
                throw StoreError(error)
            }
            if let error = replies.lazy.compactMap(\.reply.error).first {
                // Other errors are temporary: the server loads its data, or fails over.
                guard [.notPermitted, .other].contains(error.kind) else {
                    throw StoreError(.reply(error))
                }
                reasons.append(source.advice(on: error))
                continue
            }
            let values = replies.compactMap { source.read($0.reply) }
            if values.count == replies.count, let value = deciding(values) { return .known(value) }
            reasons.append("\(source.command.name) does not name it")
        }
        return .hidden(reasons.joined(separator: "; "))
    }

    /// Returns a field of a reply to INFO, or `nil`.
    private static func field(_ name: String, of reply: RedisValue) -> String? {
        let lines = (reply.string ?? "").split(whereSeparator: \.isNewline)
        return lines.first { $0.hasPrefix("\(name):") }
            .map { String($0.dropFirst(name.utf8.count + 1)) }
            .flatMap { $0.isEmpty ? nil : $0 }
    }
}
