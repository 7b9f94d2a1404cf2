import PollerIdentity
import PollerTesting
import PollerWatches
import Testing

@testable import PollerAPI

/// Lines of an archive.
enum Archive {
    /// Returns the line of a payment with two events, closed by default.
    static func line(
        _ source: String,
        account: String = "default",
        state: String = "closed",
        eventsOf told: String? = nil,
        more: String = ""
    ) -> String {
        let events = [1, 2].map { seq in
            #"{"id":"evt_\#(source)\#(seq)","type":"source.failed","account":"\#(account)","#
                + #""source":"\#(told ?? source)","kind":"source","seq":\#(seq),"run":1,"#
                + #""previous_status":"pending","status":"failed","final":true,"closed_reason":"settled","#
                + #""object":null,"observed":{"polled_at":"2026-11-20T09:30:00.125Z","lag_ms":3}}"#
        }
        return #"{"watch":{"id":"x","source":"\#(source)","kind":"source","account":"\#(account)","#
            + #""state":"\#(state)","closed_reason":\#(state == "closed" ? "\"settled\"" : "null"),"#
            + #""status":"failed","final":true,"seq":2,"run":1,"attempts":4,"#
            + #""created_at":"2026-11-20T09:00:00.000Z","deadline_at":"2026-11-20T10:00:00.000Z","#
            + #""next_poll_at":null,"last_polled_at":"2026-11-20T09:30:00.125Z","last_error":null,"#
            + #""policy":"standard","until":"settled","notify":[],"order":"A77","#
            + #""metadata":{"customer":"c_1"}\#(more)},"#
            + #""events":[\#(events.joined(separator: ","))],"timeline":[{"text":"…"}]}"#
    }
}

@Suite("Restoring archives")
struct RestoreRoutesTests {
    private static let path = "/v1/watches/batch/restore"

    /// Sends unsigned lines with `trust=true`.
    private func send(_ api: LiveAPI, _ lines: [String]) async throws -> Answer {
        try await api.post(
            Self.path + "?trust=true",
            lines.joined(separator: "\n"),
            type: "application/x-ndjson"
        )
    }

    @Test("a watch is restored with up to 64 notify URLs")
    func manyEndpoints() async throws {
        try await LiveAPI.run { api in
            for (count, status) in [(NewWatch.notifyKeptMax, 200), (65, 422)] {
                let urls = (0..<count).map { #""https://\#($0).example/""# }
                let line = Archive.line("src_\(count)").replacing(
                    #""notify":[]"#,
                    with: #""notify":[\#(urls.joined(separator: ","))]"#
                )
                let answer = try await send(api, [line])
                #expect(answer.status == status, "\(answer.text)")
            }
            let watch = try await api.get("/v1/watches/src_64")
            #expect((watch.json["notify"] as? [String])?.count == 64)
        }
    }

    @Test("a restored payment has its events and timeline and is found; an open one is skipped")
    func asItWas() async throws {
        try await LiveAPI.run { api in
            let answer = try await send(
                api,
                [Archive.line("src_1"), "", Archive.line("pi_2", state: "open")]
            )
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.number("restored") == 1 && answer.number("open") == 1)
            #expect(answer.number("present") == 0)
            let watch = try await api.get("/v1/watches/src_1")
            #expect(
                watch["state"] == "closed"
                    && watch["closed_reason"] == "settled"
            )
            #expect(watch["created_at"] == "2026-11-20T09:00:00.000Z")
            #expect(watch["last_polled_at"] == "2026-11-20T09:30:00.125Z")
            #expect(watch.number("attempts") == 4 && watch.number("seq") == 2)
            #expect((watch.json["metadata"] as? [String: String]) == ["customer": "c_1"])
            let events = try await api.get("/v1/watches/src_1/events").list("data")
            #expect(events.map { $0["id"] as? String } == ["evt_src_11", "evt_src_12"])
            let story = try await api.get("/v1/watches/src_1/timeline").list("data")
            #expect(!story.isEmpty)
            let found = try await api.get("/v1/watches?q=order%3DA77").list("data")
            #expect(found.map { $0["source"] as? String } == ["src_1"])
            #expect(try await api.get("/v1/watches/pi_2").status == 404)
        }
    }

    @Test("a repeated restore changes nothing, and an open watch stays open")
    func twice() async throws {
        try await LiveAPI.run { api in
            _ = try await api.post("/v1/watches", #"{"source":"src_2"}"#)
            let lines = [Archive.line("src_1"), Archive.line("src_2")]
            #expect(try await send(api, lines).number("restored") == 1)
            let again = try await send(api, lines)
            #expect(again.number("restored") == 0 && again.number("present") == 2)
            #expect(try await api.get("/v1/watches/src_2")["state"] == "open")
        }
    }

    @Test("invalid lines are reported by index, and nothing is restored")
    func wrongLines() async throws {
        try await LiveAPI.run { api in
            let lines = [
                Archive.line("src_1"), "{\"watch\":", Archive.line("src_3", eventsOf: "src_4"),
                #"{"watch":{}}"#, Archive.line("src 5"), Archive.line("src_6", account: "a b"),
            ]
            let answer = try await send(api, lines)
            #expect(answer.status == 422 && answer.code == "invalid_batch", "\(answer.text)")
            #expect(answer.list("errors").map { $0["index"] as? Int } == [1, 2, 3, 4, 5])
            #expect(answer.number("errors_total") == 5)
            #expect(try await api.get("/v1/watches").list("data").isEmpty)
        }
    }

    @Test("out-of-range counters are rejected, and pending actions are dropped")
    func hostile() async throws {
        try await LiveAPI.run { api in
            let line = Archive.line("src_1")
            for wrong in ["seq", "run"] {
                let huge = line.replacing(
                    wrong == "seq" ? #""final":true,"seq":2"# : #""seq":2,"run":1,"attempts""#,
                    with: wrong == "seq"
                        ? #""final":true,"seq":9223372036854775807"#
                        : #""seq":2,"run":9223372036854775807,"attempts""#
                )
                #expect(huge != line)
                let answer = try await send(api, [huge])
                #expect(answer.status == 422 && answer.code == "invalid_batch", "\(answer.text)")
            }
            let acts = #","authorisation":"capture","abandoned":"cancel""#
            let money = Archive.line("src_2", more: acts)
            #expect(try await send(api, [money]).number("restored") == 1)
            let watch = try await api.get("/v1/watches/src_2")
            #expect(watch["authorisation"] == nil && watch["abandoned"] == nil)
        }
    }

    @Test("a request is limited in lines and must not be empty")
    func bounds() async throws {
        try await LiveAPI.run { api in
            #expect(try await send(api, ["", " "]).status == 422)
            let many = (0...RestoreRoutes.linesMax).map { Archive.line("src_\($0)") }
            #expect(try await send(api, many).status == 422)
            let most = try await send(api, Array(many.dropLast()))
            #expect(most.number("restored") == RestoreRoutes.linesMax, "\(most.text)")
        }
    }

    @Test("with the memory from a listing, a restored payment accepts hints about its money")
    func memory() async throws {
        try await LiveAPI.run { api in
            let memory = #","memory":"d1||9d2k1a|k3f9a2||un||||lxyz12ab""#
            _ = try await send(api, [Archive.line("src_1", more: memory), Archive.line("src_2")])
            let shown = try await api.get("/v1/watches?memory=true&q=src_1").list("data")
            #expect(shown.first?["memory"] as? String == "d1||9d2k1a|k3f9a2||un||||lxyz12ab")
            let plain = try await api.get("/v1/watches?q=src_1").list("data")
            #expect(plain.first?["memory"] == nil)
            let key = {
                WatchKey($0, of: AccountID(unchecked: "default"))
            }
            #expect(try await api.store.hint(key("src_1"), of: .money))
            #expect(try await !api.store.hint(key("src_2"), of: .money))
            #expect(try await api.get("/v1/watches?memory=yes").status == 400)
        }
    }
}
