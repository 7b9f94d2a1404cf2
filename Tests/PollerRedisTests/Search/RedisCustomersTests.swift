import JSONText
import Poller
import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerRedis
import PollerTesting
import PollerWatches
import RedisClient
import Testing

@Suite("Event streams, mail suppression and recent problems in a real Redis")
struct RedisCustomersTests {
    private static func event(_ seq: Int, _ status: String = "pending") -> Event {
        let watch = Watch(
            WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: .source),
            createdAt: Timestamp(ms: 1_795_165_200_000),
            deadline: Timestamp(ms: 1_795_165_800_000),
            seq: seq - 1,
            state: WatchState()
        )
        return Event(
            watch,
            status: SourceStatus(unchecked: status),
            object: RawJSON(unchecked: "{\n  \"id\": \"src_1\"\n}"),
            polledAt: Timestamp(ms: 1_795_165_200_000)
        )
    }

    @Test("a stream contains each event as recorded and drops the oldest beyond its limit")
    func stream() async throws {
        try await withRedis { client in
            let layout = try await StoreLayout.created(on: client, partitions: 4)
            let channel = RedisStreamChannel(client: client, layout: layout)
            let url = try NotifyURL("redis+stream:orders")
            for seq in 1...3 {
                let result = await channel.deliver(Self.event(seq), to: url, attempt: 1)
                #expect(result.outcome == .delivered)
            }
            let entries = try await client.send(
                RedisCommand("XRANGE", ["t:stream:orders", "-", "+"])
            )
            let fields = (entries.array ?? []).map { entry in
                (entry.array?.last?.array ?? []).map { $0.string ?? "" }
            }
            #expect(
                fields
                    == (1...3).map { seq in
                        let event = Self.event(seq)
                        return ["id", "\(event.id)", "seq", "\(seq)", "event", event.json]
                    }
            )
            let old = (0..<RedisStreamChannel.entriesMax + 1000).map { _ in
                RedisCommand("XADD", ["t:stream:orders", "*", "id", "x"])
            }
            _ = try await client.pipeline(old)
            _ = await channel.deliver(Self.event(4), to: url, attempt: 1)
            let length = try await client.send(RedisCommand("XLEN", ["t:stream:orders"])).int ?? 0
            // Redis trims whole nodes of 100 entries.
            #expect(
                (RedisStreamChannel.entriesMax...RedisStreamChannel.entriesMax + 200).contains(
                    length
                )
            )
        }
    }

    @Test("delivery to a key that is not a stream fails, and the reason suggests the cause")
    func wrongKind() async throws {
        try await withRedis { client in
            let layout = try await StoreLayout.created(on: client, partitions: 4)
            let channel = RedisStreamChannel(client: client, layout: layout)
            _ = try await client.send(RedisCommand("SET", ["t:stream:taken", "mine"]))
            let url = try NotifyURL("redis+stream:taken")
            let result = await channel.deliver(Self.event(1), to: url, attempt: 1)
            #expect(result.outcome == .failed && result.reason.contains("is the key a stream?"))
        }
    }

    @Test("a recipient is suppressed for one account or for all until the suppression is lifted")
    func suppressions() async throws {
        try await withRedis { client in
            let layout = try await StoreLayout.created(on: client, partitions: 4)
            let list = RedisSuppressionList(client: client, layout: layout)
            let recipient = try MailAddress("Kunde@Example.org")
            let other = try AccountID("acct_1")
            #expect(try await list.reason(for: recipient, of: .main) == nil)
            let tokens = UnsubscribeTokens(secret: Array(repeating: 1, count: 32))
            let token = tokens.text(for: SuppressionEntry(recipient, of: .main))
            let entry = try #require(tokens.entry(of: token))
            try await list.suppress(
                entry,
                because: .unsubscribed,
                noting: SuppressionNote(at: Timestamp(ms: 0))
            )
            let spelled = try MailAddress("kunde@example.ORG")
            #expect(try await list.reason(for: spelled, of: .main) == .unsubscribed)
            #expect(try await list.reason(for: spelled, of: other) == nil)
            try await list.suppress(
                SuppressionEntry(everywhere: recipient),
                because: .complaint,
                noting: SuppressionNote(at: Timestamp(ms: 0))
            )
            #expect(try await list.reason(for: spelled, of: other) == .complaint)
            // No address is stored.
            let keys = try await client.send(RedisCommand("KEYS", ["t:suppressed:*"])).array ?? []
            #expect(keys.count == 2)
            #expect(keys.allSatisfy { !($0.string ?? "").lowercased().contains("example") })
            try await list.lift(spelled, of: .main)
            #expect(try await list.reason(for: recipient, of: .main) == nil)
            #expect(try await list.reason(for: recipient, of: other) == nil)
        }
    }

    @Test("the list shows suppressed recipients page by page, newest first, until they are lifted")
    func suppressedRecipients() async throws {
        try await withRedis { client in
            let layout = try await StoreLayout.created(on: client, partitions: 4)
            let list = RedisSuppressionList(client: client, layout: layout)
            let start = Timestamp(ms: 1_795_165_200_000)
            for number in 0..<5 {
                let recipient = try MailAddress("kunde\(number)@example.org")
                try await list.suppress(
                    SuppressionEntry(recipient, of: .main),
                    because: .hardBounce,
                    noting: SuppressionNote(
                        recipient: recipient,
                        account: .main,
                        at: start + .seconds(number)
                    )
                )
            }
            // An entry that a crash has left out of the list is effective, but not listed.
            let old = try MailAddress("old@example.org")
            let key = "t:suppressed:\(SuppressionEntry(old, of: .main).id)"
            _ = try await client.send(RedisCommand("SET", [.string(key), "unsubscribed"]))
            #expect(try await list.reason(for: old, of: .main) == .unsubscribed)
            let first = try await list.suppressed(limit: 3, cursor: nil)
            #expect(
                first.items.map(\.note.recipient) == [
                    "k…4@example.org", "k…3@example.org", "k…2@example.org",
                ]
            )
            #expect(first.items.first?.note.at == start + .seconds(4))
            #expect(
                first.items.first?.note.account == .main && first.items.first?.reason == .hardBounce
            )
            let rest = try await list.suppressed(limit: 3, cursor: first.next)
            #expect(rest.items.map(\.note.recipient) == ["k…1@example.org", "k…0@example.org"])
            #expect(rest.next == nil)
            let entry = try #require(first.items.first?.entry)
            #expect(try await list.lift(entry)?.note.recipient == "k…4@example.org")
            #expect(try await list.lift(entry) == nil)
            #expect(try await list.reason(for: MailAddress("kunde4@example.org"), of: .main) == nil)
            try await list.lift(MailAddress("kunde3@example.org"), of: .main)
            let left = try await list.suppressed(limit: 10, cursor: nil).items
            #expect(
                left.map(\.note.recipient) == [
                    "k…2@example.org", "k…1@example.org", "k…0@example.org",
                ]
            )
            await #expect(throws: StoreError.self) {
                _ = try await list.suppressed(limit: 3, cursor: "x")
            }
        }
    }

    @Test("the first refusal of a mailbox is kept for 90 days unless it is cleared or lifted")
    func refusals() async throws {
        try await withRedis { client in
            let layout = try await StoreLayout.created(on: client, partitions: 4)
            let list = RedisSuppressionList(client: client, layout: layout)
            let recipient = try MailAddress("kunde@example.org")
            let entry = SuppressionEntry(recipient, of: .main)
            let (first, later) = (
                Timestamp(ms: 1_795_165_200_000), Timestamp(ms: 1_795_265_200_000)
            )
            for end in ["forget", "lift", "damage"] {
                #expect(try await list.noteRefusal(entry, at: first) == first)
                #expect(try await list.noteRefusal(entry, at: later) == first, "\(end)")
                let elsewhere = SuppressionEntry(recipient, of: try AccountID("acct_1"))
                #expect(try await list.noteRefusal(elsewhere, at: later) == later)
                let key = RedisArgument.string("t:refused:\(entry.id)")
                let ms = try await client.send(RedisCommand("PTTL", [key])).int ?? 0
                #expect((1...Int(MailboxRefusal.kept.ms)).contains(ms))
                try await list.forgetRefusals(elsewhere)
                switch end {
                case "forget": try await list.forgetRefusals(entry)
                case "lift": try await list.lift(recipient, of: .main)
                default: _ = try await client.send(RedisCommand("SET", [key, "x"]))
                }
            }
            #expect(
                try await list.noteRefusal(entry, at: later) == later,
                "a stored value that is no time"
            )
        }
    }

    @Test("the last unreadable amount of each upstream is kept for a day")
    func unreadableAmounts() async throws {
        try await withRedis { client in
            let layout = try await StoreLayout.created(on: client, partitions: 4)
            let amounts = RedisUnreadableAmounts(client: client, layout: layout)
            #expect(try await amounts.unreadableAmounts().isEmpty)
            let start = Timestamp(ms: 1_795_165_200_000)
            let shop = AccountID(unchecked: "shop")
            for (upstream, text, seconds) in [
                (shop, "10,99", 0), (AccountID(unchecked: "erp"), "a|b\n\u{1B}[2J", 1),
                (shop, "1.099,00", 2),
            ] {
                let amount = UnreadableAmount(upstream, text, last: start + .seconds(seconds))
                try await amounts.note(amount)
            }
            let kept = try await amounts.unreadableAmounts()
            #expect(kept.map(\.text) == ["a|b[2J", "1.099,00"])
            #expect(kept.map(\.last) == [start + .seconds(1), start + .seconds(2)])
            #expect(kept.allSatisfy { $0.isRecent(at: start + .seconds(86_400)) })
            #expect(!kept[0].isRecent(at: start + .seconds(86_402)))
            let ttl = try await client.send(
                RedisCommand("PTTL", [.string("\(layout.watchKeys.namespace)unread")])
            )
            #expect((ttl.int ?? 0) > 86_000_000)
        }
    }

    @Test("refusals of the mail relay are kept for a day, with the time of the last accepted mail")
    func relayFailures() async throws {
        try await withRedis { client in
            let layout = try await StoreLayout.created(on: client, partitions: 4)
            let troubles = RedisRelayFailures(client: client, layout: layout)
            #expect(try await troubles.relayFailures() == nil)
            let start = Timestamp(ms: 1_795_165_200_000)
            try await troubles.noteAcceptance(at: start)
            #expect(try await troubles.relayFailures() == nil, "nothing is refused")
            for second in 1...3 {
                try await troubles.noteRefusal("550 no", at: start + .seconds(second))
            }
            let trouble = try await troubles.relayFailures()
            let wanted = RelayFailures(
                answer: "550 no",
                count: 3,
                since: start + .seconds(1),
                last: start + .seconds(3),
                accepted: start
            )
            #expect(trouble == wanted)
            let ms = try await client.send(RedisCommand("PTTL", ["t:relay"])).int ?? 0
            #expect((1...Int(RelayFailures.kept.ms)).contains(ms))
            for field in ["count", "since", "last"] {
                _ = try await client.send(RedisCommand("HSET", ["t:relay", "\(field)", "nan"]))
                #expect(try await troubles.relayFailures() == nil, "\(field)")
                try await troubles.noteRefusal("550 no", at: start)
            }
        }
    }
}
