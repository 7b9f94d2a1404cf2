import PollerDeliveries
import PollerIdentity
import PollerTesting
import PollerWire
import Testing

@testable import PollerGateway
@testable import PollerWatches

@Suite("A live session without a socket")
struct WebSocketSessionTests {
    private let principal = Principal(name: "shop", accounts: .all)

    private func session(open: Bool = true) -> WebSocketSession {
        var session = WebSocketSession(limits: GatewayLimits(), pingEvery: .seconds(25))
        if open { _ = session.open(token: nil, anonymous: principal) }
        return session
    }

    private func closes(_ actions: [WebSocketSession.Action]) -> CloseCode? {
        guard case .close(let code, _) = actions.first else { return nil }
        return code
    }

    @Test("the key of the request is authenticated, then `hello` is sent")
    func hello() {
        var session = session(open: false)
        #expect(session.open(token: "k", anonymous: nil) == [.authenticate(.token("k"))])
        let actions = session.authenticated(.admitted(principal), now: .seconds(1))
        guard case .send(let text) = actions.first else { return fail("\(actions)") }
        #expect(text.contains(#""op":"hello""#))
    }

    @Test("a client that does not authenticate within five seconds is closed")
    func authTimeout() {
        var session = session(open: false)
        #expect(session.open(token: nil, anonymous: nil).isEmpty)
        #expect(session.deadline == .seconds(5))
        #expect(session.tick(now: .milliseconds(4999)).isEmpty)
        #expect(closes(session.tick(now: .seconds(5))) == .authTimeout)
        // A late result of the credentials check changes nothing.
        #expect(session.authenticated(.admitted(principal), now: .seconds(6)).isEmpty)
        #expect(session.deadline == .seconds(8))
        #expect(session.tick(now: .seconds(8)) == [.cut])
        #expect(session.deadline == nil)
    }

    @Test("a client whose credentials are not checked in time is closed, and may reconnect")
    func slowCheck() {
        var headed = session(open: false)
        #expect(headed.open(token: "k", anonymous: nil) == [.authenticate(.token("k"))])
        var framed = session(open: false)
        #expect(framed.open(token: nil, anonymous: nil).isEmpty)
        let asked = framed.receive(#"{"op":"auth","token":"k"}"#, now: .seconds(4))
        #expect(asked == [.authenticate(.token("k"))])
        for var session in [headed, framed] {
            #expect(session.deadline == .seconds(5))
            #expect(session.tick(now: .milliseconds(4999)).isEmpty)
            #expect(closes(session.tick(now: .seconds(5))) == .unavailable)
            #expect(session.authenticated(.admitted(principal), now: .seconds(6)).isEmpty)
            #expect(session.tick(now: .seconds(8)) == [.cut])
        }
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

    @Test(
        "the 21st message within a second closes the connection, the 21st in two seconds does not"
    )
    func rate() {
        var session = session()
        for _ in 1...20 { #expect(closes(session.receive(#"{"op":"ping"}"#, now: .zero)) == nil) }
        #expect(closes(session.receive(#"{"op":"ping"}"#, now: .seconds(1))) == nil)
        for _ in 1...19 { _ = session.receive(#"{"op":"ping"}"#, now: .seconds(1)) }
        let last = session.receive(#"{"op":"ping"}"#, now: .milliseconds(1900))
        #expect(closes(last) == .rateLimited)
    }

    @Test("a drain closes at its deadline, and the session ignores all later input")
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
        "an invalid request gets an error and does not close the connection",
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
        guard case .send(let answer) = actions.first else { return fail("\(actions)") }
        #expect(answer.hasPrefix(#"{"op":"error","ref":1,"code":""#))
    }

    @Test("unsubscribing makes room for another subscription")
    func room() {
        var session = session()
        for number in 1...100 {
            _ = session.receive(#"{"op":"subscribe"}"#, now: .seconds(number))
        }
        _ = session.receive(#"{"op":"unsubscribe","sub":"s5"}"#, now: .seconds(101))
        let actions = session.receive(#"{"op":"subscribe"}"#, now: .seconds(102))
        guard case .subscribe(let subscription) = actions.first else { return fail("\(actions)") }
        #expect(subscription.id == "s101")
        #expect(
            closes(session.receive(#"{"op":"subscribe"}"#, now: .seconds(103)))
                == .tooManySubscriptions
        )
    }

    @Test("types match exactly or by prefix")
    func types() throws {
        func matches(_ types: String) throws -> Bool {
            let message = try #require(ClientMessage(#"{"op":"subscribe","types":[\#(types)]}"#))
            let subscription = try Subscription.parse(
                message,
                id: "s1",
                principal: principal,
                limits: GatewayLimits()
            )
            return subscription.includes(Samples.event())
        }
        #expect(try matches(#""source.chargeable""#))
        #expect(try matches(#""watch.*","source.*""#))
        #expect(try !matches(#""source.charge""#))
        #expect(try !matches(#""watch.*""#))
    }

    @Test("a message may have unknown fields, and a field of the wrong type makes it invalid")
    func reading() throws {
        let text = #"{"op":"subscribe","new":{"x":[1]},"ref":7.0,"from":null,"sources":["src_1"]}"#
        let message = try #require(ClientMessage(text))
        #expect(message.op == "subscribe")
        #expect(message.ref?.value == 7)
        #expect(message.from == nil)
        #expect(message.sources == ["src_1"])
        let none = [
            "", "{", "[]", "null", #"{"ref":1}"#, #"{"op":null}"#, #"{"op":1}"#,
            #"{"op":"ping","ref":"1"}"#, #"{"op":"ping","ref":1.5}"#, #"{"op":"ping","ref":1e99}"#,
            #"{"op":"ping","sources":"src_1"}"#, #"{"op":"ping","sources":[null]}"#,
            #"{"op":"ping"} x"#,
        ]
        for text in none { #expect(ClientMessage(text) == nil, "\(text)") }
    }

    @Test("every frame has the exact bytes, with its event as recorded")
    func frames() throws {
        func text(_ message: LiveMessage, ref: Int? = nil, view: EventView = .full) throws -> String
        {
            let subscription = try Subscription(
                id: "s1",
                ref: ref,
                account: nil,
                sources: nil,
                types: nil,
                from: .now,
                principal: Principal(name: "shop", accounts: .all, view: view),
                limits: GatewayLimits()
            )
            return ServerMessage.text(message, subscription)
        }
        #expect(
            ServerMessage.hello(GatewayLimits()) == #"""
                {"op":"hello","ping_ms":25000,"limits":{"frame_bytes":16384,"subscriptions":100,\#
                "sources":100,"types":50,"messages_per_second":20}}
                """#
        )
        #expect(
            try text(.subscribed(cursor: "c", lost: nil), ref: 1)
                == #"{"op":"subscribed","ref":1,"sub":"s1","cursor":"c","recovered":true}"#
        )
        #expect(
            try text(.subscribed(cursor: "c", lost: "a\"b"))
                == #"{"op":"subscribed","sub":"s1","cursor":"c","recovered":false,"reason":"a\"b"}"#
        )
        let event = Samples.event(object: #"{ "id":"src_1", "b":1.50, "amount":2 }"#)
        #expect(event.json.contains(#""object":{"id":"src_1","b":1.50,"amount":2},"#))
        #expect(
            try text(.event(event, cursor: "c"))
                == #"{"op":"event","sub":"s1","cursor":"c","event":\#(event.json)}"#
        )
        #expect(
            try text(.event(event, cursor: "c"), view: .restricted) == #"""
                {"op":"event","sub":"s1","cursor":"c","event":{"id":"\#(event.id)",\#
                "type":"source.chargeable","source":"src_1","kind":"source","seq":2,"run":1,\#
                "previous_status":"pending","status":"chargeable","final":false,\#
                "closed_reason":null,"object":{"amount":2,"id":"src_1"},\#
                "observed":{"polled_at":"\#(event.polledAt)"}}}
                """#
        )
        #expect(
            try text(.caughtUp(cursor: "c")) == #"{"op":"caught_up","sub":"s1","cursor":"c"}"#
        )
        #expect(
            try text(.settled(event.key.source, cursor: "c"))
                == #"{"op":"settled","sub":"s1","source":"src_1"}"#
        )
        #expect(
            ServerMessage.error(ref: nil, code: "x", message: "y\n")
                == #"{"op":"error","code":"x","message":"y\n"}"#
        )
        #expect(
            ServerMessage.bye(.draining, reason: "r", cursor: "c")
                == #"{"op":"bye","code":4101,"reason":"r","retry_ms":[500,8000],"cursor":"c"}"#
        )
        #expect(
            ServerMessage.bye(.badMessage, reason: "r", cursor: nil)
                == #"{"op":"bye","code":4000,"reason":"r"}"#
        )
        #expect(ServerMessage.pong == #"{"op":"pong"}"#)
        #expect(ServerMessage.unsubscribed(sub: "s1") == #"{"op":"unsubscribed","sub":"s1"}"#)
        #expect(
            EventStreamMessage.bye(.rotated, reason: "r")
                == "event: bye\ndata: {\"code\":4102,\"reason\":\"r\"}\n\n"
        )
        #expect(
            EventStreamMessage.text(.caughtUp(cursor: "c"), .full, endsWhenSettled: true)
                == "event: ready\nid: c\ndata: {}\n\n"
        )
    }
}
