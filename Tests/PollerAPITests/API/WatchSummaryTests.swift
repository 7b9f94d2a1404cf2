import Foundation
import NIOCore
import NIOHTTP1
import PollerIdentity
import PollerTesting
import PollerWatches
import PollerWire
import Testing

@testable import PollerAPI
@testable import PollerOperations
@testable import PollerPayments

@Suite("Counts and sums of a filter, and its CSV file")
struct WatchSummaryTests {
    @Test("a summary counts the matches of a filter and adds their amounts by currency")
    func sums() async throws {
        try await LiveAPI.run { api in
            for number in 1...5 { try await api.enqueue("src_\(number)") }
            for number in 1...3 {
                try await api.see("src_\(number)", "chargeable", payment: .authorised)
            }
            try await api.see("src_4", "consumed", final: true, payment: .paid)
            let all = try await api.get("/v1/watches/summary")
            #expect(all.status == 200 && all.number("count") == 5, "\(all.text)")
            #expect(all.json["capped"] as? Bool == false)
            #expect(Self.sums(all) == ["eur": 4396])
            let held = try await api.get("/v1/watches/summary?payment=authorised")
            #expect(held.number("count") == 3 && Self.sums(held) == ["eur": 3297])
            let found = try await api.get("/v1/watches/summary?q=payment%3Dpaid&state=closed")
            #expect(found.number("count") == 1 && Self.sums(found) == ["eur": 1099])
            let none = try await api.get("/v1/watches/summary?account=nobody")
            #expect(none.number("count") == 0 && none.list("sums").isEmpty)
        }
    }

    @Test("paging parameters and unknown filters are rejected")
    func refused() async throws {
        try await LiveAPI.run { api in
            for query in ["limit=5", "cursor=abc", "format=csv", "colour=red"] {
                let answer = try await api.get("/v1/watches/summary?\(query)")
                #expect(answer.code == "unknown_parameter", "\(query): \(answer.text)")
            }
            #expect(try await api.get("/v1/watches/summary?q=amount%3Dmuch").status == 400)
            #expect(try await api.post("/v1/watches/summary", "{}").status == 405)
        }
    }

    @Test("a count stops at 10,000 and is marked as capped")
    func capped() async throws {
        try await LiveAPI.run { api in
            let ids = (0..<10_100).map { #"{"source":"src_\#($0)"}"# }
            for start in stride(from: 0, to: ids.count, by: 1010) {
                let part = ids[start..<start + 1010].joined(separator: ",")
                #expect(try await api.post("/v1/watches/batch", "[\(part)]").status == 200)
            }
            let summary = try await api.get("/v1/watches/summary")
            #expect(summary.number("count") == 10_000)
            #expect(summary.json["capped"] as? Bool == true)
        }
    }

    @Test(
        "skipped records are limited too, even if the caller may not see their number",
        arguments: [(0, 40), (2000, 10)]
    )
    func bounded(_ looked: Int, _ wanted: Int) async throws {
        var pages = 0
        let summary = try await WatchSummaryRoutes.summary(isSelective: true) { _, _ in
            pages += 1
            return ListPage(items: [], next: "more", looked: looked)
        }
        #expect(pages == wanted && summary.count == 0 && summary.isCapped)
    }

    @Test("watches can be filtered by creation time, and an invalid time is rejected")
    func created() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            for (query, count) in [
                ("created_after=1h", 1), ("created_before=1h", 0), ("created_after=2000-01-01", 1),
                ("created_after=2000-01-01&created_before=2000-02-01", 0),
                ("created_before=2999-01-01T00:00:00Z&q=src_1", 1),
            ] {
                let list = try await api.get("/v1/watches?\(query)")
                #expect(list.list("data").count == count, "\(query): \(list.text)")
                let summary = try await api.get("/v1/watches/summary?\(query)")
                #expect(summary.number("count") == count, "\(query)")
            }
            let wrong = try await api.get("/v1/watches?created_after=soon")
            #expect(wrong.status == 400 && wrong["field"] == "created_after")
        }
    }

    @Test("a CSV file has one line per match of a filter, in one response")
    func csv() async throws {
        try await LiveAPI.run { api in
            for number in 0..<620 { try await api.enqueue("src_\(number)") }
            let odd =
                #"{"source":"src_odd","metadata":{"order":"=1+1","customer":"Doe, \"Jane\""}}"#
            #expect(try await api.post("/v1/watches", odd).status == 201)
            try await api.see("src_odd", "consumed", final: true, payment: .paid)
            let answer = try await api.get("/v1/watches?format=csv")
            #expect(answer.status == 200)
            let type = answer.headers.first(name: "Content-Type")
            #expect(type == "text/csv; charset=utf-8; header=present")
            #expect(
                answer.headers.first(name: "Content-Disposition")?.contains("payments.csv") == true
            )
            let lines = answer.text.components(separatedBy: "\r\n")
            #expect(lines.count == 623 && lines.last == "")
            #expect(lines[0].hasPrefix("created_at,source,account,kind,order,state,"))
            #expect(lines[0].hasSuffix(",metadata.customer,metadata.email"))
            let paid = try #require(lines.first { $0.contains("src_odd") })
            #expect(
                paid.contains(
                    ",src_odd,default,source,'=1+1,closed,settled,consumed,paid,10.99,10.99,,EUR,ideal,"
                )
            )
            #expect(paid.hasSuffix(",\"Doe, \"\"Jane\"\"\","))
            let one = try await api.get("/v1/watches?format=csv&payment=paid")
            #expect(one.text.components(separatedBy: "\r\n").count == 3)
            let none = try await api.get("/v1/watches?format=csv&account=nobody")
            #expect(none.text.components(separatedBy: "\r\n").count == 2, "the header alone")
        }
    }

    @Test("an export with a revoked key ends early with an error")
    func revoked() async throws {
        let store = MemoryStore(time: ClockTime(ContinuousClock()))
        let watches = try (0..<600).map { number in
            let source = SourceID(unchecked: "src_\(number)")
            return try NewWatch(key: WatchKey(account: .main, source: source, kind: .source))
        }
        _ = try await store.enqueue(watches)
        let scans = Scans(
            watches: store,
            gate: ScanGate(),
            rates: RequestRates(.standard, clock: ContinuousClock())
        )
        let csv = WatchCSV(metadata: [])
        let good = WatchExport(scans: scans, csv: csv, recheck: {})
        let whole = try await good.response(ListQuery(), for: .local).collectedBody()
        #expect(String(buffer: whole).components(separatedBy: "\r\n").count == 602)
        let revoked = WatchExport(scans: scans, csv: csv) { () throws(Problem) in
            throw Problem(.unauthenticated, "It was revoked.")
        }
        let response = try await revoked.response(ListQuery(), for: .local)
        await #expect(throws: Problem.self) { _ = try await response.collectedBody() }
    }

    @Test("an invalid CSV request is rejected")
    func wrongCSV() async throws {
        try await LiveAPI.run { api in
            #expect(try await api.get("/v1/watches?format=xml").status == 400)
            #expect(try await api.get("/v1/watches?format=csv&q=oder%3D1").status == 400)
            try await api.enqueue("src_1")
            try await api.enqueue("src_2")
            let next = try #require(try await api.get("/v1/watches?limit=1")["next"])
            let paged = try await api.get("/v1/watches?format=csv&cursor=\(next)")
            #expect(paged.status == 400 && paged["field"] == "cursor")
        }
    }

    @Test("the error of an unknown search field suggests the likely one")
    func guesses() async throws {
        try await LiveAPI.run { api in
            let answer = try await api.get("/v1/watches?q=basket%3DB42")
            #expect(
                answer["detail"]?.contains("Did you mean `metadata.basket=B42`?") == true,
                "\(answer.text)"
            )
        }
    }

    private static func sums(_ answer: Answer) -> [String: Int] {
        Dictionary(
            uniqueKeysWithValues: answer.list("sums").compactMap { sum in
                guard let currency = sum["currency"] as? String, let amount = sum["amount"] as? Int
                else { return nil }
                return (currency, amount)
            }
        )
    }
}

@Suite("CSV lines")
struct CSVTests {
    @Test(
        "a field is quoted according to RFC 4180, and is never a formula",
        arguments: [
            ("plain", "plain"), ("", ""), ("a,b", "\"a,b\""), ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""), ("two\r\nlines", "\"two\r\nlines\""),
            ("=SUM(A1)", "'=SUM(A1)"), ("+49 170", "'+49 170"), ("-1", "'-1"), ("@x", "'@x"),
            ("  =1", "'  =1"), ("＝1", "'＝1"), ("=\"a\"", "\"'=\"\"a\"\"\""), ("\t=1", "'\t'=1"),
            ("red\u{1B}[31m", "red?[31m"), ("Müller 李", "Müller 李"), ("a=b", "a=b"),
            ("=\u{301}1", "'=\u{301}1"), ("a\"\u{301}", "\"a\"\"\u{301}\""),
            ("Jane;=cmd|'/C calc'!A0", "\"Jane;'=cmd|'/C calc'!A0\""), ("a; +1", "\"a;' +1\""),
            ("a;\"=1;", "\"a;'\"\"=1;\""), ("a\t-1", "a\t'-1"), ("a\r\n@x", "\"a\r\n'@x\""),
            ("a;b", "\"a;b\""), ("a;=\u{301}", "\"a;'=\u{301}\""),
        ]
    )
    func text(_ text: String, _ written: String) {
        #expect(CSV.line([.text(text)]) == written + "\r\n")
    }

    @Test("an unknown value is an empty field")
    func unknown() {
        #expect(CSV.line([.text(nil), .trusted("-1"), .trusted(nil)]) == ",-1,\r\n")
        let line = WatchCSV(metadata: ["order", "customer"]).line(of: PollerWire.Watch())
        #expect(line.split(separator: ",", omittingEmptySubsequences: false).count == 18)
    }
}
