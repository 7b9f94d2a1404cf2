import Foundation
import Synchronization
import Testing

@testable import PollerAPI
@testable import PollerPayments

@Suite("pollerctl list counts and exports")
struct PollerctlListTests {
    @Test("--summary prints the count and a sum for each currency")
    func summary() async throws {
        try await LiveAPI.run { api in
            for number in 1...3 {
                try await api.enqueue("src_\(number)")
                try await api.see("src_\(number)", "chargeable", payment: .authorised)
            }
            try await api.enqueue("src_4")
            let held = try await Self.list("payment=authorised", "--summary", url: api.url)
            #expect(
                held.status == 0 && held.output == "payments  3\nsum       32.97 eur\n",
                "\(held.errors)"
            )
            let json = try await Self.list("--summary", "--json", url: api.url)
            #expect(
                json.output
                    == #"{"count":4,"capped":false,"sums":[{"currency":"eur","amount":3297}]}"#
                    + "\n"
            )
        }
    }

    @Test("--csv writes all matches, with columns for metadata")
    func csv() async throws {
        try await LiveAPI.run { api in
            for number in 0..<130 { try await api.enqueue("src_\(number)") }
            let named = #"{"source":"src_named","metadata":{"customer":"=Jane","basket":"B42"}}"#
            #expect(try await api.post("/v1/watches", named).status == 201)
            let all = try await Self.list("--csv", url: api.url)
            #expect(all.status == 0 && all.output.components(separatedBy: "\r\n").count == 133)
            #expect(all.output.contains(",'=Jane,\r\n"))
            let few = try await Self.list(
                "--csv",
                "--limit",
                "2",
                "--column",
                "basket",
                url: api.url
            )
            let lines = few.output.components(separatedBy: "\r\n")
            #expect(lines.count == 4 && lines[0].hasSuffix(",last_error,metadata.basket"))
            #expect(lines[1].hasSuffix(",B42"), "the newest first")
        }
    }

    @Test("--since and --until select a range that includes the last day")
    func range() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            let watch = try await api.get("/v1/watches/src_1")
            let today = String(try #require(watch["created_at"]).prefix(10))
            for (arguments, isFound) in [
                (["--since", "1d"], true), (["--until", today], true), (["--until", "1d"], false),
                (["--since", today, "--until", today], true), (["--since", "2999-01-01"], false),
            ] {
                let done = try await CommandRun.run(["list"] + arguments, url: api.url)
                #expect(
                    done.status == 0 && done.output.isEmpty != isFound,
                    "\(arguments): \(done.errors)"
                )
            }
            let wrong = try await Self.list("--since", "soon", url: api.url)
            #expect(
                wrong.status == 64 && wrong.errors.contains("--since must be a day"),
                "\(wrong.errors)"
            )
        }
    }

    @Test("a list waits while the server rejects a page because of the key's rate")
    func waits() async throws {
        let asked = Mutex(0)
        try await ScriptedGateway.run { connection in
            let number = asked.withLock { asked in
                asked += 1
                return asked
            }
            let rest = number == 1 ? #"true,"next":"a""# : #"false,"next":null"#
            let page = #"{"data":[],"has_more":\#(rest)}"#
            let problem = #"{"status":429,"code":"too_many_requests"}"#
            let (status, body) = number == 2 ? ("429 Too Many Requests", problem) : ("200 OK", page)
            try await connection.send(
                "HTTP/1.1 \(status)\r\ncontent-type: application/json\r\nretry-after: 1\r\n"
                    + "connection: close\r\ncontent-length: \(body.utf8.count)\r\n\r\n\(body)"
            )
        } _: { server, port in
            let done = try await CommandRun.run(
                ["delivery", "list", "--state", "dead"],
                url: "http://127.0.0.1:\(port)"
            )
            #expect(done.status == 0, "\(done.errors)")
            #expect(server.requests.count == 3 && server.requests[1] == server.requests[2])
        }
    }

    @Test("conflicting options are rejected")
    func excluding() async throws {
        for arguments in [
            ["--csv", "--summary"], ["--csv", "--json"], ["--column", "x"], ["--limit", "0"],
        ] {
            let done = try await CommandRun.run(["list"] + arguments, url: "http://127.0.0.1:9")
            #expect(done.status == 64, "\(arguments)")
        }
    }

    private static func list(_ arguments: String..., url: String) async throws -> CommandRun {
        try await CommandRun.run(["list"] + arguments, url: url)
    }
}
