import NIOHTTP1
import PollerHints
import PollerIdentity
import PollerTesting
import Synchronization
import Testing

@testable import PollerAPI
@testable import PollerPayments

@Suite("Disputes over HTTP", .timeLimit(.minutes(5)))
struct DisputeRoutesTests {
    /// A dispute reader with fixed disputes, which counts the reads.
    private final class FakeReader: DisputeReader {
        let disputedAccounts = [AccountID(unchecked: "acme"), .main]
        private let all: [AccountDispute]
        private let reads = Mutex(0)

        init(_ all: [AccountDispute]) { self.all = all }

        var count: Int { reads.withLock { $0 } }

        func disputes(
            of account: AccountID
        ) async throws(DisputeReadFailure) -> [AccountDispute] {
            reads.withLock { $0 += 1 }
            guard account == .main else { throw DisputeReadFailure("401 invalid key") }
            return all
        }
    }

    private func dispute(
        _ id: String,
        _ status: String,
        due seconds: Int64? = nil,
        charge: String? = nil,
        intent: String? = nil
    ) -> AccountDispute {
        AccountDispute(
            id: id,
            account: .main,
            status: status,
            needsResponse: status == "needs_response",
            isClosed: status == "won",
            amount: 1099,
            currency: "eur",
            reason: "fraudulent",
            charge: charge.map(SourceID.init(unchecked:)),
            intent: intent.map(SourceID.init(unchecked:)),
            createdAt: Timestamp(ms: 1_795_000_000_000),
            dueAt: seconds.map { Timestamp(ms: $0 * 1000) }
        )
    }

    @Test("open disputes are listed with deadline and payment, nearest deadline first")
    func list() async throws {
        let reader = FakeReader([
            dispute("dp_2", "under_review", charge: "ch_2"),
            dispute("dp_1", "needs_response", due: 1_796_000_000, intent: "pi_1"),
            dispute("dp_3", "needs_response", due: 1_795_900_000, charge: "ch_3"),
            dispute("dp_4", "won"),
        ])
        try await LiveAPI.run(disputes: reader) { api in
            _ = try await api.post("/v1/watches", #"{"source":"pi_1","order":"A1"}"#)
            _ = try await api.post("/v1/watches", #"{"source":"ch_3","order":"A3"}"#)
            let answer = try await api.get("/v1/disputes")
            let rows = answer.list("data")
            #expect(rows.map { $0["id"] as? String } == ["dp_3", "dp_1", "dp_2"], "\(answer.text)")
            #expect(rows.map { $0["order"] as? String } == ["A3", "A1", nil])
            #expect(rows.map { $0["source"] as? String } == ["ch_3", "pi_1", nil])
            #expect(rows.first?["due_at"] as? String == "2026-11-28T21:06:40.000Z")
            #expect(rows.first?["needs_response"] as? Bool == true)
            #expect(rows.first?["amount"] as? Int == 1099)
            // The disputes of other accounts are shown although one cannot be read.
            let unread = answer.list("unread")
            #expect(unread.map { $0["account"] as? String } == ["acme"])
            #expect(unread.first?["reason"] as? String == "401 invalid key")
            let all = try await api.get("/v1/disputes?closed=true").list("data")
            #expect(all.map { $0["id"] as? String }.contains("dp_4"))
            // Each account was read once, including the unreadable one.
            #expect(reader.count == 2)
        }
    }

    /// A dispute reader with many accounts, one of them unreadable, and slow reads.
    private final class SlowReader: DisputeReader {
        let disputedAccounts: [AccountID]
        private let reads = Mutex((now: 0, most: 0, all: 0))

        init(accounts: Int) {
            disputedAccounts = (0..<accounts).map { AccountID(unchecked: "acct_\($0)") }
        }

        var count: Int { reads.withLock { $0.all } }
        /// The maximum number of concurrent reads.
        var most: Int { reads.withLock { $0.most } }

        func disputes(
            of account: AccountID
        ) async throws(DisputeReadFailure) -> [AccountDispute] {
            reads.withLock { reads in
                reads.now += 1
                reads.all += 1
                reads.most = max(reads.most, reads.now)
            }
            // Long enough for other reads to start, since each of them runs before this one continues.
            for _ in 0..<200 { await Task.yield() }
            reads.withLock { $0.now -= 1 }
            guard account.description != "acct_0" else { throw DisputeReadFailure("no answer") }
            return []
        }
    }

    @Test("concurrent requests share a read; failures are cached for 10 s, disputes for 60 s")
    func shared() async throws {
        let (reader, clock) = (SlowReader(accounts: 2), ManualClock())
        let cache = DisputeCache(reader: reader, clock: clock)
        let all = reader.disputedAccounts
        async let first = cache.disputes(of: all)
        async let second = cache.disputes(of: all)
        let answers = await [first, second]
        #expect(answers.map(\.count) == [2, 2])
        #expect(reader.count == 2, "each account once")
        clock.advance(by: .seconds(9))
        let kept = await cache.disputes(of: all)
        #expect(reader.count == 2 && kept.values.allSatisfy { $0.age == .seconds(9) })
        clock.advance(by: .seconds(1))
        _ = await cache.disputes(of: all)
        #expect(reader.count == 3, "the one that failed")
        clock.advance(by: .seconds(49))
        _ = await cache.disputes(of: all)
        #expect(reader.count == 4, "the one that failed, again")
        clock.advance(by: .seconds(1))
        _ = await cache.disputes(of: all)
        #expect(reader.count == 5, "the one that was read a minute ago")
    }

    @Test("each request reads some of many accounts concurrently, and all are read in the end")
    func many() async throws {
        let reader = SlowReader(accounts: DisputeCache.readsMax + 20)
        let cache = DisputeCache(reader: reader, clock: ManualClock())
        let all = reader.disputedAccounts
        #expect(await cache.disputes(of: all).count == DisputeCache.readsMax)
        #expect(reader.count == DisputeCache.readsMax)
        #expect((2...DisputeCache.atOnce).contains(reader.most))
        #expect(await cache.disputes(of: all).count == all.count)
        #expect(reader.count == all.count)
    }

    @Test("a dispute of a source's charge shows the watch that created the charge")
    func charged() async throws {
        let reader = FakeReader([
            dispute("dp_1", "needs_response", due: 1_796_000_000, charge: "ch_7")
        ])
        try await LiveAPI.run(disputes: reader) { api in
            let watch = #"{"source":"src_1","order":"A7","metadata":{"order":"ch_7"}}"#
            _ = try await api.post("/v1/watches", watch)
            let rows = try await api.get("/v1/disputes").list("data")
            #expect(rows.first?["source"] as? String == "src_1")
        }
    }

    @Test("without an upstream that has disputes, `/v1/disputes` is not found")
    func none() async throws {
        try await LiveAPI.run { api in
            let answer = try await api.get("/v1/disputes")
            #expect(answer.code == "not_found")
        }
    }
}
