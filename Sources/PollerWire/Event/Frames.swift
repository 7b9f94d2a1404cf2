// The messages of live connections: WebSocket messages in both directions, and the data of server-sent events.
//
// This file holds the shapes only. `WebSocketMessages.swift` and `EventStreamMessage.swift` describe how the gateway
// handles them, and how it handles invalid messages. An event inside a frame is `RawJSON`: the recorded bytes are
// copied into each frame and never parsed.

package import JSONText
import SafeNumbers

/// A message of a WebSocket client.
///
/// One shape serves all operations. Members that an operation does not need are ignored.
///
/// ```
/// {"op":"auth","token":"…"}      {"op":"auth","source":"src_…","client_secret":"…"}
/// {"op":"subscribe","ref":1,"sources":["src_…"],"types":["source.*"],"from":"<cursor>"|"now"|"snapshot"}
/// {"op":"subscribe","ref":2,"sources":["src_…"],"account":"default","after_seq":3}
/// {"op":"unsubscribe","sub":"s1"}      {"op":"ping"}
/// ```
/// The shape is not a request as defined by ``Shape``: unknown members are ignored too, since a client may be newer
/// than the server.
package struct ClientMessage: WireObject, Hashable {
    /// The operation.
    package var op = ""
    /// In `auth`: an API key or a stream token.
    package var token: String?
    /// In `auth`: the source that the client secret belongs to.
    package var source: String?
    /// In `auth`: the client secret.
    package var clientSecret: String?
    /// The client's number for this message, which the response repeats.
    package var ref: WholeNumber?
    /// The account of the sources; `nil` for the account of the credentials, or else the default account.
    package var account: String?
    /// In `subscribe`: the sources; `nil` for all.
    package var sources: [String]?
    /// In `subscribe`: event types, or prefixes that end in `.*`; `nil` for all.
    package var types: [String]?
    /// In `subscribe`: a cursor, `now` or `snapshot`.
    package var from: String?
    /// In `subscribe` to one watch: the last event the client has.
    package var afterSeq: WholeNumber?
    /// In `unsubscribe`: the ID of the subscription.
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

/// A whole number in any JSON notation.
///
/// `1`, `1.0` and `1e0` are the same number to JavaScript and to most JSON encoders, and the gateway has always
/// accepted each of them.
package struct WholeNumber: WireValue, Hashable {
    package static let schema = Int.schema

    package let value: Int

    package static func read(
        _ json: RawJSON,
        _ location: FieldLocation
    ) throws(WireError) -> WholeNumber {
        guard let text = json.number else { throw location.mustBe("a number", not: json) }
        let exact = Int(decimal: text) ?? Double(text).flatMap { Int(exactly: $0) }
        guard let value = exact.flatMap({ Int(safe: $0) }) else {
            throw location.mustBe("a whole number")
        }
        return WholeNumber(value: value)
    }

    package func write(to json: inout JSONWriter) { json.value(value) }
}

/// The messages of the server on a WebSocket.
///
/// `op` names the message, and `sub` the subscription. A `cursor` covers every event sent before it on this connection.
package enum ServerFrame {
    /// The credentials were accepted.
    ///
    /// Carries the limits for the client.
    package struct Hello: WireObject {
        package var op = "hello"
        /// The mean interval between pings.
        package var pingMs = 0
        package var limits = Limits()

        /// The limits of a client.
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

    /// A subscription has started.
    package struct Subscribed: WireObject {
        package var op = "subscribed"
        package var ref: Int?
        package var sub = ""
        package var cursor = ""
        /// Whether the subscription resumes at the client's cursor.
        package var recovered = true
        /// Why the subscription cannot resume.
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

    package struct EventRecorded: WireObject {
        package var op = "event"
        package var sub = ""
        package var cursor = ""
        /// An ``Event`` or a ``PublicEvent``.
        package var event = RawJSON(unchecked: "null")

        package init() {}

        package static let shape = Shape<EventRecorded> {
            Field("op", \.op)
            Field("sub", \.sub)
            Field("cursor", \.cursor)
            Field("event", \.event)
        }
    }

    /// Every event recorded before the subscription has been sent.
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

    /// No further event of this run of the source follows.
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

    /// A subscription has ended at the client's request.
    package struct Unsubscribed: WireObject {
        package var op = "unsubscribed"
        package var sub = ""

        package init() {}

        package static let shape = Shape<Unsubscribed> {
            Field("op", \.op)
            Field("sub", \.sub)
        }
    }

    /// The response to `ping`.
    package struct Pong: WireObject {
        package var op = "pong"

        package init() {}

        package static let shape = Shape<Pong> { Field("op", \.op) }
    }

    /// A message was rejected.
    ///
    /// The connection stays open.
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
        /// The code of the close frame.
        package var code = 0
        package var reason = ""
        /// The shortest and the longest wait before the client reconnects; `nil` if it should not reconnect.
        package var retryMs: [Int]?
        /// The position up to which every event was sent; `nil` if the client must use the last cursor it received.
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

/// The state of a source, in a WebSocket `snapshot` and in that of an event stream.
package struct SourceState: WireObject {
    /// Left out in the restricted view.
    package var account: String?
    package var source = ""
    package var kind = Open(Kind.source)
    package var state = Open(Watch.State.open)
    package var status: String?
    package var isFinal = false
    package var seq = 0
    /// The upstream's object, with the fields the client may see.
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

/// The data of event stream messages that are neither an event nor a ``SourceState``.
package enum StreamData {
    /// `reset`: the client's position is lost.
    package struct Reset: WireObject {
        package var reason = ""

        package init() {}

        package static let shape = Shape<Reset> { Field("reason", \.reason) }
    }

    /// `ready`: every event recorded before has been sent.
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
        /// The code that a WebSocket close frame would have.
        package var code = 0
        package var reason = ""

        package init() {}

        package static let shape = Shape<Bye> {
            Field("code", \.code)
            Field("reason", \.reason)
        }
    }
}
