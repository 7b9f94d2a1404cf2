import PollerIdentity
import PollerTesting
import PollerWatches
import Testing

@testable import PollerGateway

@Suite("Event stream parts")
struct EventStreamPartsTests {
    /// Parses a stream as a browser does: a manual implementation of the HTML standard §9.2.6.
    private func parsed(_ text: String) -> [(event: String, id: String?, data: String)] {
        var found: [(event: String, id: String?, data: String)] = []
        var event = ""
        var id: String?
        var data: [String] = []
        let unified = text.unicodeScalars.reduce(into: [Unicode.Scalar]()) { scalars, scalar in
            if scalar == "\n", scalars.last == "\r" { scalars.removeLast() }
            scalars.append(scalar)
        }
        for line in unified.split(
            omittingEmptySubsequences: false,
            whereSeparator: { $0 == "\n" || $0 == "\r" }
        ) {
            guard !line.isEmpty else {
                if !data.isEmpty { found.append((event, id, data.joined(separator: "\n"))) }
                (event, data) = ("", [])
                continue
            }
            var view = String.UnicodeScalarView()
            view.append(contentsOf: line)
            let parts = String(view).split(
                separator: ":",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            guard parts.count == 2 else { continue }
            let value = parts[1].hasPrefix(" ") ? String(parts[1].dropFirst()) : String(parts[1])
            switch parts[0] {
            case "event": event = value
            case "id": if !value.unicodeScalars.contains("\0") { id = value }
            case "data": data.append(value)
            default: continue
            }
        }
        return found
    }

    /// Regression 10 (mercure#1259): field injection by a line end.
    @Test("regression 10: a line break in a name, an ID or the data starts no new field")
    func injection() {
        var generator = SeededGenerator(seed: 10)
        let pieces = [
            "a", "\n", "\r", "\r\n", "\0", "\u{2028}", "\u{0085}", ": ", "data: x", "event: done",
            "id: 0", "\n\n", "é", "retry: 1",
        ]
        for _ in 0..<2000 {
            let texts = (0..<3).map { _ in
                (0..<Int.random(in: 0...6, using: &generator))
                    .map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
            }
            let message = EventStreamText.message(name: texts[0], id: texts[1], data: texts[2])
            let found = parsed(message)
            #expect(found.count == 1, "\(texts.map(\.debugDescription))")
            let isClean = { (text: String) in !text.utf8.contains { [0x0A, 0x0D, 0].contains($0) } }
            #expect(found.first?.event == (isClean(texts[0]) ? texts[0] : ""))
            #expect(found.first?.id == (isClean(texts[1]) ? texts[1] : nil))
            let unified = texts[2].unicodeScalars.reduce(into: String.UnicodeScalarView()) {
                all,
                next in
                if next == "\n", all.last == "\r" { all.removeLast() }
                all.append(next)
            }
            .map { $0 == "\r" ? "\n" : String($0) }.joined()
            #expect(found.first?.data.unicodeScalars.elementsEqual(unified.unicodeScalars) == true)
        }
    }

    @Test("a session sends heartbeats, rotates, expires and drains at its deadlines")
    func clock() {
        let limits = GatewayLimits()
        var session = EventStreamSession(limits: limits, rotateAt: .seconds(40), validFor: nil)
        #expect(session.deadline == .seconds(15))
        #expect(session.tick(now: .seconds(14)) == nil)
        #expect(session.tick(now: .seconds(15)) == .heartbeat)
        #expect(session.tick(now: .seconds(30)) == .heartbeat)
        #expect(session.deadline == .seconds(40))
        guard case .end(.rotated, _) = session.tick(now: .seconds(40)) else {
            return fail("not rotated")
        }
        session.drain(at: .seconds(41))
        guard case .end(.draining, _) = session.tick(now: .seconds(41)) else {
            return fail("not drained")
        }
        var short = EventStreamSession(
            limits: limits,
            rotateAt: .seconds(600),
            validFor: .seconds(3)
        )
        #expect(short.deadline == .seconds(3))
        guard case .end(.tokenExpired, _) = short.tick(now: .seconds(3)) else {
            return fail("not expired")
        }
        short.finish()
        #expect(short.deadline == nil)
        #expect(short.tick(now: .seconds(1000)) == nil)
    }

    @Test("the restricted view shows the payment's state and no data of the merchant")
    func publicView() throws {
        let object = #"""
            {"id":"src_1","object":"source","amount":1000,"currency":"eur","livemode":false,
            "metadata":{"margin":"0.4"},"owner":{"email":"a@b.c"},"type":"ideal","customer":"cus_9"}
            """#
        let event = Samples.event(account: AccountID(unchecked: "acct_secret"), object: object)
        let text = PublicView.json(of: event)
        for secret in ["acct_secret", "margin", "a@b.c", "cus_9"] {
            #expect(!text.contains(secret))
        }
        let json = try #require(JSONLine(text))
        #expect(json["object"]?["amount"]?.int == 1000)
        #expect(json["object"]?["livemode"]?.bool == false)
        #expect(json["status"]?.string == "chargeable")
        #expect(json["id"]?.string == event.id.description)
        let named = event.carrying(metadata: #"{"shop":"a","observed":"b","object":"c"}"#)
        #expect(JSONLine(PublicView.json(of: named))?["object"]?["amount"]?.int == 1000)
        for odd in ["null", "[1]", "", "{", #""x""#] { #expect(PublicView.object(odd) == "null") }
    }
}
