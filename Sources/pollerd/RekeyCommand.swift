import ArgumentParser
import Foundation
import Logging
import Poller
import PollerIdentity
import PollerRedis
import ProgramOutput
import RedisClient

/// `pollerd rekey`: encrypts all secrets in the store with the first master key.
struct Rekey: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rekey",
        abstract:
            "Seal all secrets in the store by the first master key; exit 1 if one does not open.",
        discussion: """
            Run it once after POLLER_MASTER_KEY was set on every process, and whenever a new key was put \
            before the others there. It may run while the cluster works and may be killed: run it again, \
            what is done is passed over. A key may be taken away once this has said that nothing is \
            sealed by it any more.
            """
    )

    @ArgumentParser.Flag(
        help: "Replace the root of stream tokens and cursors; the former still counts for a while."
    )
    var roots = false

    @ArgumentParser.Option(
        help:
            "A key that is gone for good and still noted: it is no obstacle, and forgotten if all opens without it."
    )
    var forget: String?

    @OptionGroup var flags: Flags

    /// The time for one sync of every process, in addition to the pause between syncs.
    private static let margin = Duration.seconds(2)

    func run() async throws {
        let settings = try Settings(try flags.configuration())
        LoggingSystem.bootstrap { label in
            LineLogHandler(label: label, format: .text, level: .warning)
        }
        guard roots || !settings.masterKeys.isEmpty else {
            throw ConfigurationError(
                "there is no master key to seal with: set POLLER_MASTER_KEY_FILE, made with "
                    + "openssl rand -hex 32, here and on every process"
            )
        }
        let logger = Logger(label: "rekey")
        let client = RedisClient(
            url: settings.redisURL,
            configuration: settings.redis,
            logger: logger
        )
        let isWhole = try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await client.run() }
            let cluster = try await Cluster.join(
                client,
                namespace: settings.namespace,
                partitions: settings.partitions,
                masterKeys: settings.masterKeys,
                logger: logger
            )
            try await cluster.secrets.prepare(forgetting: forget)
            defer { group.cancelAll() }
            if roots {
                try await rotate(cluster.secrets, settings)
                return true
            }
            return try await reseal(cluster, settings.masterKeys, logger)
        }
        if !isWhole { throw ExitCode(1) }
    }

    private func rotate(_ secrets: RedisSecrets, _ settings: Settings) async throws {
        do {
            let overlap = max(settings.retention.outbox, StreamGrant.lifetimeMax)
            let since = try await secrets.rotate(now: WallClock.now(), overlap: overlap)
            StandardStreams.printLine("roots: new from \(since) on")
            StandardStreams.printLine(
                "tokens of the former root count for an hour more, cursors for \(overlap.text)"
            )
        } catch let error as InvalidInput {
            throw ConfigurationError("the roots \(error.message)")
        }
    }

    /// Encrypts all secrets again and returns whether every one could be decrypted.
    private func reseal(
        _ cluster: Cluster,
        _ masterKeys: MasterKeys,
        _ logger: Logger
    ) async throws -> Bool {
        StandardStreams.printLine("roots: \(try await cluster.secrets.reseal()) sealed anew")
        let walk = RedisRekey(
            client: cluster.client,
            layout: cluster.layout,
            masterKeys: masterKeys
        )
        var unopened = 0
        for part in RedisRekey.Part.allCases {
            var (looked, sealed) = (0, 0)
            var cursor: String?
            repeat {
                let page = try await walk.step(part, after: cursor)
                looked += page.looked
                sealed += page.sealed
                unopened += page.unopened.count
                for error in page.unopened { StandardStreams.printLine("\(part): \(error)") }
                cursor = page.next
            } while cursor != nil
            StandardStreams.printLine("\(part): \(looked) looked at, \(sealed) sealed anew")
        }
        guard unopened == 0 else {
            StandardStreams.printLine(
                "\(unopened) could not be opened: nothing of them was changed; give the key they need"
            )
            return false
        }
        try await cluster.secrets.settle()
        guard try await isAloneNow(cluster) else { return false }
        StandardStreams.printLine(
            "everything is sealed by \(masterKeys.ids.first ?? "no key"); "
                + "other keys are not needed any more"
        )
        StandardStreams.printLine(
            "archives keep the key they were signed with: without it behind the first, pollerctl import needs --trust"
        )
        StandardStreams.printLine(
            "what was written before is in older files and backups: redis-cli BGREWRITEAOF drops it here"
        )
        return true
    }

    /// Whether no running process encrypts with another key.
    ///
    /// Each process records its key again within seconds.
    private func isAloneNow(_ cluster: Cluster) async throws -> Bool {
        guard try await !cluster.members.members().isEmpty else { return true }
        StandardStreams.printLine("waiting for what the running processes say of their keys")
        try await Task.sleep(for: SecretsSync.pause + Self.margin)
        let standing = try await cluster.secrets.standing()
        if standing.otherKeys.isEmpty, !standing.isPlain { return true }
        let keys = standing.otherKeys + (standing.isPlain ? ["no key at all"] : [])
        StandardStreams.printLine(
            "a process that runs still seals by \(keys.joined(separator: ", ")): give every process the "
                + "keys in this order, start it again, then run this again; take no key away before"
        )
        return false
    }
}
