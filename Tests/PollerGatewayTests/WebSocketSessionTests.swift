import Poller
import PollerTesting
import Testing

@testable import PollerGateway

@Suite("A live session, without a socket")
struct WebSocketSessionTests {
    private let principal = Principal(name: "shop", account: nil)

    private func session(open: Bool = true) -> WebSocketSession {
        var session = WebSocketSession(limits: GatewayLimits(), pingEvery: .seconds(25))
        if open { _ = session.open(token: nil, known: principal) }
        return session
    }

    private func closes(_ actions: [WebSocketSession.Action]) -> CloseCode? {
        guard case .close(let code, _) = actions.first else { return nil }
        return code
    }

    @Test("a key in the request is looked up, then hello is said")
    func hello() {
        var session = session(open: false)
        #expect(session.open(token: "k", known: nil) == [.authenticate(.token("k"))])
        let actions = session.authenticated(.admitted(principal), now: .seconds(1))
        guard case .send(let text) = actions.first else {
            Issue.record("\(actions)")
            return
        }
        #expect(text.contains(#""op":"hello""#))
    }

    @Test("nobody has more than five seconds to authenticate")
    func authTimeout() {
        var session = session(open: false)
        #expect(session.open(token: nil, known: nil).isEmpty)
        #expect(session.deadline == .seconds(5))
        #expect(session.tick(now: .milliseconds(4999)).isEmpty)
        #expect(closes(session.tick(now: .seconds(5))) == .authTimeout)
        // A late answer of the look-up changes nothing.
        #expect(session.authenticated(.admitted(principal), now: .seconds(6)).isEmpty)
        #expect(session.deadline == .seconds(8))
        #expect(session.tick(now: .seconds(8)) == [.cut])
        #expect(session.deadline == nil)
    }

    @Test("a silent client is pinged, and cut when it does not answer")
    func pings() {
        var session = session()
        #expect(session.deadline == .seconds(25))
        #expect(session.tick(now: .seconds(25)) == [.ping])
        session.pongReceived(now: .seconds(26))
        #expect(session.deadline == .seconds(51))
        #expect(session.tick(now: .seconds(51)) == [.ping])
        #expect(session.deadline == .seconds(61))
        #expect(session.tick(now: .seconds(60)).isEmpty)
        #expect(session.tick(now: .seconds(61)) == [.cut])
    }

    @Test("the 21st message of a second closes, the 21st of two does not")
    func rate() {
        var session = session()
        for _ in 1...20 { #expect(closes(session.receive(#"{"op":"ping"}"#, now: .zero)) == nil) }
        #expect(closes(session.receive(#"{"op":"ping"}"#, now: .seconds(1))) == nil)
        for _ in 1...19 { _ = session.receive(#"{"op":"ping"}"#, now: .seconds(1)) }
        let last = session.receive(#"{"op":"ping"}"#, now: .milliseconds(1900))
        #expect(closes(last) == .rateLimited)
    }

    @Test("a drain closes at its own moment, and nothing is done after it")
    func drain() {
        var session = session()
        session.drain(at: .seconds(3))
        #expect(session.deadline == .seconds(3))
        #expect(session.tick(now: .seconds(2)).isEmpty)
        #expect(closes(session.tick(now: .seconds(3))) == .draining)
        #expect(session.receive(#"{"op":"ping"}"#, now: .seconds(3)).isEmpty)
        #expect(session.close(.slowConsumer, "", now: .seconds(3)).isEmpty)
    }

    @Test(
        "a subscription with a mistake is an error, not the end",
        arguments: [
            #"{"op":"subscribe","ref":1,"sources":[]}"#,
            #"{"op":"subscribe","ref":1,"sources":["a b"]}"#,
            #"{"op":"subscribe","ref":1,"sources":["src_\u0000"]}"#,
            #"{"op":"subscribe","ref":1,"types":[""]}"#,
            #"{"op":"subscribe","ref":1,"from":"snapshot"}"#,
            #"{"op":"dance","ref":1}"#, #"{"op":"auth","token":"x","ref":1}"#,
        ]
    )
    func mistakes(text: String) {
        var session = session()
        let actions = session.receive(text, now: .zero)
        guard case .send(let answer) = actions.first else {
            Issue.record("\(actions)")
            return
        }
        #expect(answer.hasPrefix(#"{"op":"error","ref":1,"code":""#))
    }

    @Test("stopped subscriptions make room for others")
    func room() {
        var session = session()
        for number in 1...100 {
            _ = session.receive(#"{"op":"subscribe"}"#, now: .seconds(number))
        }
        _ = session.receive(#"{"op":"unsubscribe","sub":"s5"}"#, now: .seconds(101))
        let actions = session.receive(#"{"op":"subscribe"}"#, now: .seconds(102))
        guard case .subscribe(let subscription) = actions.first else {
            Issue.record("\(actions)")
            return
        }
        #expect(subscription.id == "s101")
        #expect(
            closes(session.receive(#"{"op":"subscribe"}"#, now: .seconds(103)))
                == .tooManySubscriptions
        )
    }

    @Test("types match whole or by prefix")
    func types() throws {
        func matches(_ types: String) throws -> Bool {
            let message = try #require(ClientMessage(#"{"op":"subscribe","types":[\#(types)]}"#))
            let subscription = try Subscription.parse(
                message,
                id: "s1",
                principal: principal,
                limits: GatewayLimits()
            )
            return subscription.wants(Samples.event())
        }
        #expect(try matches(#""source.chargeable""#))
        #expect(try matches(#""watch.*","source.*""#))
        #expect(try !matches(#""source.charge""#))
        #expect(try !matches(#""watch.*""#))
    }
}
