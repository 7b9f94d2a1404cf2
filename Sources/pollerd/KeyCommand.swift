import ArgumentParser
import Foundation
import Logging
import PollerAPI
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerRedis
import PollerWire
import ProgramOutput
import RedisClient

/// `pollerd key`: creates API keys directly in the store.
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Create the first API key, or a new one when all others are lost.",
        discussion: """
            Any process with access to Redis can create a key, without a server and without a key. All
            other keys are created, listed and revoked with pollerctl key.
            """,
        subcommands: [KeyCreate.self]
    )
}

/// `pollerd key create`: creates a key in the store.
struct KeyCreate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a key and print it once, alone, on standard output.",
        discussion: "Running servers accept it within a second and reject requests without a "
            + "valid key."
    )

    @ArgumentParser.Option(help: "Role: viewer, support, operator or admin.")
    var role = "admin"

    @ArgumentParser.Option(
        help: "Account the key is limited to; repeat for several. Default: all accounts."
    )
    var account: [String] = []

    @ArgumentParser.Option(
        help: "Permission in addition to the role, such as payments:charge; repeat for several."
    )
    var allow: [String] = []

    @ArgumentParser.Option(help: "Lifetime of the key, such as 90d. Default: it never expires.")
    var expires: String?

    @ArgumentParser.Option(help: "Name of the key.")
    var name: String?

    @OptionGroup var flags: Flags

    func validate() throws { _ = try key(id: KeyID(unchecked: "key_")) }

    func run() async throws {
        let settings = try Settings(try flags.configuration())
        LoggingSystem.bootstrap { label in
            LineLogHandler(label: label, format: .text, level: .warning)
        }
        let logger = Logger(label: "key")
        var generator = SystemRandomNumberGenerator()
        let text = KeyText(using: &generator)
        let key = try key(id: text.id)
        let client = RedisClient(
            url: settings.redisURL,
            configuration: settings.redis,
            logger: logger
        )
        let creation = try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await client.run() }
            do throws(RedisError) {
                try await client.waitUntilConnected(timeout: .seconds(10))
            } catch {
                let advice = "check POLLER_REDIS_URL"
                StandardStreams.writeError("Redis: \(error); \(advice)\n")
                throw ExitCode(69)
            }
            let cluster = try await Cluster.join(
                client,
                namespace: settings.namespace,
                partitions: settings.partitions,
                logger: logger
            )
            // This command may exceed the usual maximum, because its key may be needed to manage the others.
            let store = RedisKeyStore(
                cluster.redis,
                countMax: 2 * PollerOperations.AccessKey.countMax
            )
            let recorder = AuditRecorder(trail: cluster.trail, logger: logger)
            func record(_ key: PollerOperations.AccessKey, _ result: String? = nil) async {
                var facts = AuditFacts([
                    "name": key.name ?? "", "role": key.role.rawValue,
                    "accounts": key.accounts.names?.joined(separator: ", ") ?? "all",
                ])
                if let result { facts = facts.with("result", result) }
                await recorder.record(
                    AuditedChange(
                        by: .pollerd,
                        action: "createKey",
                        target: AuditTarget(.key, key.id.description),
                        after: AuditFacts.difference(nil, facts).after
                    )
                )
            }
            let creation: KeyCreation
            do throws(StoreError) {
                creation = try await store.create(key, digest: text.digest)
            } catch {
                // The key may exist, although its answer is lost.
                if case .unavailable(_, true) = error { await record(key, "unknown") }
                throw error
            }
            if case .created(let made) = creation { await record(made) }
            group.cancelAll()
            return creation
        }
        guard case .created(let made) = creation else {
            throw ConfigurationError(
                "there are \(PollerOperations.AccessKey.countMax) keys already, which is the limit: "
                    + "revoke some with pollerctl key"
            )
        }
        // Servers read the keys twice a second. When the key is printed, all running servers accept it.
        try await Task.sleep(for: .seconds(1))
        StandardStreams.writeError("\(made.id) (\(made.role)); the key is shown once:\n")
        StandardStreams.printLine(text.reveal)
    }

    private func key(id: KeyID) throws -> PollerOperations.AccessKey {
        var wanted = NewAccessKey()
        wanted.role = Open(rawValue: role)
        wanted.name = name
        wanted.accounts = account.isEmpty ? nil : account
        wanted.allow = allow
        wanted.expiresIn = try expires.map { text in
            guard let span = Span(text) else {
                throw ValidationError("--expires must be a duration such as 90d")
            }
            return span
        }
        do {
            try AuditActor.checkName(name)
            return try PollerOperations.AccessKey(
                wanted,
                id: id,
                standard: .all,
                by: "pollerd key create",
                now: WallClock.now()
            )
        } catch {
            throw ValidationError("\(error)")
        }
    }
}
