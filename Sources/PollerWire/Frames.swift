// What goes over a live connection: the messages of a WebSocket in both directions, and what stands in
// the data of server-sent events.
//
// Only the shapes are here. What the gateway does with them, and with texts that are none of them, is
// told beside it in `WebSocketMessages.swift` and `EventStreamMessage.swift`. An event inside a frame is
// `RawJSON`: its bytes are those that were recorded, copied into each frame and never parsed.

package import JSONText
import SafeNumbers

/// What a client of the WebSocket says: one shape for all its operations, because a member that an
/// operation does not need is passed over.
///
/// ```
/// {"op":"auth","token":"…"}      {"op":"auth","source":"src_…","client_secret":"…"}
/// {"op":"subscribe","ref":1,"sources":["src_…"],"types":["source.*"],"from":"<cursor>"|"now"|"snapshot"}
/// {"op":"subscribe","ref":2,"sources":["src_…"],"account":"default","after_seq":3}
/// {"op":"unsubscribe","sub":"s1"}      {"op":"ping"}
/// ```
/// It is not a request in the sense of ``Shape``: members that are not known are passed over too, since
/// clients may be newer than the server.
package struct ClientMessage: WireObject, Hashable {
    /// What is to be done.
    package var op = ""
    /// Of `auth`: an API key or a stream token.
    package var token: String?
    /// Of `auth`: the source whose secret is shown.
    package var source: String?
    /// Of `auth`: that secret.
    package var clientSecret: String?
    /// The client's own number for this message, repeated in what answers it.
    package var ref: WholeNumber?
    /// The account of the sources; nil for the credentials' own, else the default one.
    package var account: String?
    /// Of `subscribe`: the sources it is about; nil for all.
    package var sources: [String]?
    /// Of `subscribe`: event types, or prefixes ending in `.*`; nil for all.
    package var types: [String]?
    /// Of `subscribe`: a cursor, `now` or `snapshot`.
    package var from: String?
    /// Of `subscribe` to one watch: the last event the client has.
    package var afterSeq: WholeNumber?
    /// Of `unsubscribe`: the subscription's name.
    package var sub: String?

    package init() {}

    package static let shape = Shape<ClientMessage> {
        Field("op", \.op)
        Field("token", \.token)
        Field("source", \.source)
        Field("client_secret", \.clientSecret)
        Field("ref", \.ref)
        Field("account", \.account)
        Field("sources", \.sources)
        Field("types", \.types)
        Field("from", \.from)
        Field("after_seq", \.afterSeq)
        Field("sub", \.sub)
    }
}

/// A whole number in whichever way a client writes it: `1`, `1.0` and `1e0` are one number to
/// JavaScript and to most writers of JSON, and the gateway has always taken them for one.
package struct WholeNumber: WireValue, Hashable {
    package static let schema = Int.schema

    package let value: Int

    package static func read(_ json: RawJSON, _ place: Place) throws(WireError) -> WholeNumber {
        guard let text = json.number else { throw place.mustBe("a number", not: json) }
        let exact = Int(decimal: text) ?? Double(text).flatMap { Int(exactly: $0) }
        guard let value = exact.flatMap({ Int(safe: $0) }) else {
            throw place.mustBe("a whole number")
        }
        return WholeNumber(value: value)
    }

    package func write(to json: inout JSONWriter) { json.value(value) }
}

/// What the server says on a WebSocket.
///
/// `op` tells which of these it is; `sub` names the subscription; a `cursor` stands for everything told
/// before it on this connection.
package enum ServerFrame {
    /// The credentials were accepted, and this is what a client must keep to.
    package struct Hello: WireObject {
        package var op = "hello"
        /// The mean span between pings.
        package var pingMs = 0
        package var limits = Limits()

        /// What a client may not exceed.
        package struct Limits: WireObject {
            package var frameBytes = 0
            package var subscriptions = 0
            package var sources = 0
            package var types = 0
            package var messagesPerSecond = 0

            package init() {}

            package static let shape = Shape<Limits> {
                Field("frame_bytes", \.frameBytes)
                Field("subscriptions", \.subscriptions)
                Field("sources", \.sources)
                Field("types", \.types)
                Field("messages_per_second", \.messagesPerSecond)
            }
        }

        package init() {}

        package static let shape = Shape<Hello> {
            Field("op", \.op)
            Field("ping_ms", \.pingMs)
            Field("limits", \.limits)
        }
    }

    /// A subscription begins.
    package struct Subscribed: WireObject {
        package var op = "subscribed"
        package var ref: Int?
        package var sub = ""
        package var cursor = ""
        /// It goes on where the client's cursor was.
        package var recovered = true
        /// Why it does not.
        package var reason: String?

        package init() {}

        package static let shape = Shape<Subscribed> {
            Field("op", \.op)
            Field("ref", \.ref)
            Field("sub", \.sub)
            Field("cursor", \.cursor)
            Field("recovered", \.recovered)
            Field("reason", \.reason)
        }
    }

    /// The state of a source.
    package struct Snapshot: WireObject {
        package var op = "snapshot"
        package var sub = ""
        package var cursor = ""
        package var state = SourceState()

        package init() {}

        package static let shape = Shape<Snapshot> {
            Field("op", \.op)
            Field("sub", \.sub)
            Field("cursor", \.cursor)
            Field.of(\.state)
        }
    }

    /// Something was recorded.
    package struct Told: WireObject {
        package var op = "event"
        package var sub = ""
        package var cursor = ""
        /// An ``Event`` or a ``PublicEvent``.
        package var event = RawJSON(unchecked: "null")

        package init() {}

        package static let shape = Shape<Told> {
            Field("op", \.op)
            Field("sub", \.sub)
            Field("cursor", \.cursor)
            Field("event", \.event)
        }
    }

    /// Everything that was recorded before the subscription has been told.
    package struct CaughtUp: WireObject {
        package var op = "caught_up"
        package var sub = ""
        package var cursor = ""

        package init() {}

        package static let shape = Shape<CaughtUp> {
            Field("op", \.op)
            Field("sub", \.sub)
            Field("cursor", \.cursor)
        }
    }

    /// No further event of this run of the source will follow.
    package struct Settled: WireObject {
        package var op = "settled"
        package var sub = ""
        package var source = ""

        package init() {}

        package static let shape = Shape<Settled> {
            Field("op", \.op)
            Field("sub", \.sub)
            Field("source", \.source)
        }
    }

    /// A subscription has ended, as the client wished.
    package struct Unsubscribed: WireObject {
        package var op = "unsubscribed"
        package var sub = ""

        package init() {}

        package static let shape = Shape<Unsubscribed> {
            Field("op", \.op)
            Field("sub", \.sub)
        }
    }

    /// The answer to `ping`.
    package struct Pong: WireObject {
        package var op = "pong"

        package init() {}

        package static let shape = Shape<Pong> { Field("op", \.op) }
    }

    /// A message could not be followed; the connection goes on.
    package struct Failure: WireObject {
        package var op = "error"
        package var ref: Int?
        package var code = ""
        package var message = ""

        package init() {}

        package static let shape = Shape<Failure> {
            Field("op", \.op)
            Field("ref", \.ref)
            Field("code", \.code)
            Field("message", \.message)
        }
    }

    /// The last message before the close frame.
    package struct Bye: WireObject {
        package var op = "bye"
        /// The close frame's code.
        package var code = 0
        package var reason = ""
        /// The shortest and the longest wait before the client comes back; nil when it should not.
        package var retryMs: [Int]?
        /// Everything before it was sent; nil when the client must go by what it has read.
        package var cursor: String?

        package init() {}

        package static let shape = Shape<Bye> {
            Field("op", \.op)
            Field("code", \.code)
            Field("reason", \.reason)
            Field("retry_ms", \.retryMs)
            Field("cursor", \.cursor)
        }
    }
}

/// How a source stands: inside a WebSocket's `snapshot`, and the data of an event stream's.
package struct SourceState: WireObject {
    /// Left out for those who see the restricted view.
    package var account: String?
    package var source = ""
    package var kind = Open(Kind.source)
    package var state = Open(Watch.State.open)
    package var status: String?
    package var isFinal = false
    package var seq = 0
    /// The upstream's object as the client may see it.
    package var object: RawJSON?

    package init() {}

    package static let shape = Shape<SourceState> {
        Field("account", \.account)
        Field("source", \.source)
        Field("kind", \.kind)
        Field("state", \.state)
        Field(nullable: "status", \.status)
        Field("final", \.isFinal)
        Field("seq", \.seq)
        Field(nullable: "object", \.object)
    }
}

/// The data of an event stream's messages that are neither an event nor a ``SourceState``.
package enum StreamData {
    /// `reset`: the client's place is lost.
    package struct Reset: WireObject {
        package var reason = ""

        package init() {}

        package static let shape = Shape<Reset> { Field("reason", \.reason) }
    }

    /// `ready`: everything recorded before has been told, and there is nothing more to say of it.
    package struct Ready: WireObject {
        package init() {}

        package static let shape = Shape<Ready> {}
    }

    /// `done`: the source is settled.
    package struct Done: WireObject {
        package var source = ""

        package init() {}

        package static let shape = Shape<Done> { Field("source", \.source) }
    }

    /// `bye`: the connection ends.
    package struct Bye: WireObject {
        /// As a WebSocket's close frame would have it.
        package var code = 0
        package var reason = ""

        package init() {}

        package static let shape = Shape<Bye> {
            Field("code", \.code)
            Field("reason", \.reason)
        }
    }
}
