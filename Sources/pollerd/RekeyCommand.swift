import ArgumentParser
import Foundation
import Logging
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerRedis
import PollerWatches
import ProgramOutput
import RedisClient

/// `pollerd rekey`: encrypts all secrets in the store with the first master key.
struct Rekey: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rekey",
        abstract:
            "Encrypt all secrets in the store with the first master key; exit 1 if one cannot "
            + "be decrypted.",
        discussion: """
            Run it once after POLLER_MASTER_KEY was set for every process, and whenever a new first key \
            was added. It may run while the cluster works. If it is killed, run it again: finished work \
            is skipped. A key may be removed after this command has reported that nothing is encrypted \
            with it any more.
            """
    )

    @ArgumentParser.Flag(
        help: "Replace the root secret of tokens and cursors; the old one stays valid for a while."
    )
    var roots = false

    @ArgumentParser.Option(
        help: "ID of a lost key to ignore; it is forgotten if everything opens without it."
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
                "no master key is set: set POLLER_MASTER_KEY_FILE, made with "
                    + "openssl rand -hex 32, for this command and every process"
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
            StandardStreams.printLine("roots: replaced, valid from \(since)")
            StandardStreams.printLine(
                "tokens of the old root stay valid for another hour, cursors for \(overlap.text)"
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
        StandardStreams.printLine("roots: \(try await cluster.secrets.reseal()) encrypted again")
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
            StandardStreams.printLine("\(part): \(looked) checked, \(sealed) encrypted again")
        }
        guard unopened == 0 else {
            StandardStreams.printLine(
                "\(unopened) could not be decrypted and were not changed: add the key they "
                    + "were encrypted with"
            )
            return false
        }
        try await cluster.secrets.removeUnusedKeys()
        guard try await isOnlyEncrypter(cluster) else { return false }
        StandardStreams.printLine(
            "everything is encrypted with \(masterKeys.ids.first ?? "no key"); "
                + "other keys are no longer needed"
        )
        StandardStreams.printLine(
            "archives stay signed with their old key: without it after the first key, "
                + "pollerctl import needs --trust"
        )
        StandardStreams.printLine(
            "older files and backups still contain the old data; redis-cli BGREWRITEAOF "
                + "removes it from this Redis"
        )
        return true
    }

    /// Whether no running process encrypts with another key.
    ///
    /// Each process records its key again within seconds.
    private func isOnlyEncrypter(_ cluster: Cluster) async throws -> Bool {
        guard try await !cluster.members.members().isEmpty else { return true }
        StandardStreams.printLine("waiting for the running processes to report their keys")
        try await Task.sleep(for: SecretsSync.pause + Self.margin)
        let encryptionStatus = try await cluster.secrets.encryptionStatus()
        if encryptionStatus.otherKeys.isEmpty, !encryptionStatus.isPlain { return true }
        let keys = encryptionStatus.otherKeys + (encryptionStatus.isPlain ? ["no key at all"] : [])
        StandardStreams.printLine(
            "a running process still encrypts with \(keys.joined(separator: ", ")): give every "
                + "process the "
                + "keys in this order, restart it, then run this command again; remove no key "
                + "before"
        )
        return false
    }
}
