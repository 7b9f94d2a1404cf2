package import PollerHints
package import PollerIdentity
package import PollerQueue
package import RedisClient
import SafeNumbers

/// The sweeps, marks and reads of accounts, in Redis.
///
/// Their keys, in one slot for each account, are listed with all others in ``Keys``.
package struct RedisSweepStore: SweepStore {
    /// How long a webhook may take before its event counts as missed.
    ///
    /// Stripe's first retries come within minutes.
    package static let webhookSpan = Duration.seconds(300)

    let client: RedisClient
    private let namespace: String
    private let webhookSpan: Duration

    /// Creates the store of a cluster.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - layout: its namespace, as verified at start.
    ///   - webhookSpan: how long a webhook may take before its event counts as missed.
    package init(
        client: RedisClient,
        layout: StoreLayout,
        webhookSpan: Duration = RedisSweepStore.webhookSpan
    ) {
        self.client = client
        namespace = layout.watchKeys.namespace
        self.webhookSpan = webhookSpan
    }

    package func take(
        _ account: AccountID,
        owner: OwnerID,
        for span: Duration,
        pace: Duration?
    ) async throws(StoreError) -> SweepLease {
        let reply = try await client.run(
            .sweepTake,
            [key("sweep", account)],
            [
                .string(owner.description), RedisArgument(span.ms),
                pace.map { RedisArgument($0.ms) } ?? .string(""),
            ]
        )
        guard let fields = reply.array, fields.count == 5, let ours = fields[0].int,
            let cursor = Self.cursor(fields[1].string ?? ""), let now = fields[3].time
        else { throw .corrupt("the sweep of \(account) is not understood") }
        return SweepLease(
            isOwner: ours == 1,
            cursor: cursor,
            caughtUpAt: fields[2].time,
            isRereadDue: fields[4].int == 1,
            now: now
        )
    }

    package func finish(
        _ progress: SweepProgress,
        of account: AccountID,
        owner: OwnerID,
        pause: Duration
    ) async throws(StoreError) -> Int? {
        let reply = try await client.run(
            .sweepFinish,
            [key("sweep", account), key("unseen", account)],
            [
                .string(owner.description), .string(Self.text(progress.cursor)),
                .string(progress.isCaughtUp ? "1" : "0"), RedisArgument(pause.ms),
                RedisArgument(webhookSpan.ms),
                .string(key("mark", account) + HintIntake.mark(ofEvent: "")),
                progress.rereadPause.map { RedisArgument($0.ms) } ?? .string(""),
            ] + progress.unseen.map { .string($0) }
        )
        guard let missed = reply.int else { throw .corrupt("a sweep's end answered nonsense") }
        return missed < 0 ? nil : missed
    }

    package func isMarked(
        _ marks: [String],
        of account: AccountID
    ) async throws(StoreError) -> [Bool] {
        guard !marks.isEmpty else { return [] }
        let reply = try await client.execute(
            RedisCommand("MGET", marks.map { .string(key("mark", account) + $0) })
        )
        let found = (reply.array ?? []).map { $0.string != nil }
        guard found.count == marks.count else {
            throw StoreError(.protocolError("MGET answered nonsense"))
        }
        return found
    }

    package func mark(
        _ marks: [(name: String, span: Duration)],
        of account: AccountID
    ) async throws(StoreError) {
        guard !marks.isEmpty else { return }
        _ = try await client.run(
            .setMarks,
            marks.map { key("mark", account) + $0.name },
            marks.map { RedisArgument($0.span.ms) }
        )
    }

    package func addReads(
        _ usage: ReadUsage,
        of account: AccountID
    ) async throws(StoreError) -> ReadUsage {
        let reply = try await client.run(
            .addUsage,
            [key("reads", account), key("paid", account)],
            [
                RedisArgument(usage.reads), RedisArgument(usage.transactions),
                RedisArgument(usage.isPaid ? ReadUsage.paidSpan.ms : 0),
            ]
        )
        guard let sums = reply.array?.compactMap(\.int), sums.count == 3 else {
            throw .corrupt("the reads of \(account) are not understood")
        }
        return ReadUsage(reads: sums[0], transactions: sums[1], isPaid: sums[2] == 1)
    }

    package func sweepStatus(of account: AccountID) async throws(StoreError) -> SweepStatus? {
        let fields = [SweepField.caughtUp, .pause, .due].map { RedisArgument.string($0.rawValue) }
        let reply = try await client.execute(
            RedisCommand("HMGET", [.string(key("sweep", account))] + fields)
        )
        let texts = (reply.array ?? []).map { $0.string ?? "" }
        guard texts.count == fields.count else {
            throw StoreError(.protocolError("HMGET answered nonsense"))
        }
        guard texts.contains(where: { !$0.isEmpty }) else { return nil }
        return SweepStatus(
            caughtUpAt: Timestamp(stored: texts[0]),
            pause: Int64(safe: texts[1]).map { .milliseconds($0) }
        )
    }

    var refusedKey: String { "\(namespace)refused" }

    private func key(_ kind: String, _ account: AccountID) -> String {
        "\(namespace)\(kind){\(account)}"
    }

    private static func text(_ cursor: SweepCursor) -> String {
        switch cursor {
        case .start: ""
        case .since(let time): "<\(time.ms)"
        case .after(let id): "=\(id)"
        }
    }

    private static func cursor(_ text: String) -> SweepCursor? {
        switch text.first {
        case nil: .start
        case "<": Timestamp(stored: text.dropFirst()).map { .since($0) }
        case "=": .after(String(text.dropFirst()))
        default: nil
        }
    }
}
