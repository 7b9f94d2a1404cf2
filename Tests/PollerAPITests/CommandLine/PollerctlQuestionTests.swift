import Foundation
import NIOCore
import NIOPosix
import Synchronization
import Testing

@Suite("pollerctl for support")
struct PollerctlQuestionTests {
    @Test("late payments are listed with the reason")
    func late() async throws {
        let body = """
            {"data":[{"source":"src_1","account":"default","kind":"source","order":"A77","lane":"default/sources",\
            "due_at":"2026-11-20T09:30:00.125Z","late_ms":61250,"reasons":["its lane default/sources is paused: resume it"],\
            "payment":{"state":"authorised","amount_received":0}}],"waiting":1,"has_more":false}
            """
        let (done, requests) = try await Self.run(["late", "--over", "1m", "--limit", "5"], [body])
        #expect(requests == ["GET /v1/late?over=1m&limit=5 HTTP/1.1"])
        let row =
            "src_1\t61250\tits lane default/sources is paused: resume it\tauthorised\tA77\tdefault/sources\tdefault\n"
        #expect(done.status == 0 && done.output == row, "\(done.errors)")
        #expect(try await Self.run(["late", "--limit", "101"], []).done.status == 64)
    }

    @Test("disputes of the cluster are listed with their deadlines")
    func disputes() async throws {
        let body = """
            {"data":[{"id":"dp_1","account":"default","status":"needs_response","needs_response":true,"open":true,\
            "amount":1099,"currency":"eur","reason":"fraudulent","charge":"ch_1","due_at":"2026-11-29T23:59:59.000Z",\
            "source":"src_1","order":"A77"}],"unread":[{"account":"shop","reason":"the key may not"}],\
            "read_at":"2026-11-20T09:30:00.000Z"}
            """
        let (done, requests) = try await Self.run(["dispute", "due"], [body])
        #expect(requests == ["GET /v1/disputes HTTP/1.1"])
        #expect(
            done.output
                == "dp_1\t2026-11-29T23:59:59.000Z\tneeds_response\t10.99 eur\tfraudulent\tsrc_1\tA77\tch_1\tdefault\n"
        )
        #expect(done.errors.contains("account shop could not be read: the key may not"))
        let (json, asked) = try await Self.run(
            ["dispute", "due", "--closed", "--account", "b", "--json"],
            [body]
        )
        #expect(asked == ["GET /v1/disputes?account=b&closed=true HTTP/1.1"])
        #expect(
            json.output.hasPrefix(#"{"id":"dp_1","#)
                && json.output.split(separator: "\n").count == 1
        )
    }

    @Test("delivery message shows a message, by default of the latest sent event")
    func message() async throws {
        let attempts = """
            {"data":[{"at":"2026-11-20T09:30:00.000Z","event":"evt_3","seq":3,"number":1,\
            "outcome":"delivered","class":"accepted","code":200,"address":null,\
            "ms":{"resolve":null,"connect":null,"first_byte":null,"total":4},"reason":null,"excerpt":null}],"has_more":false,"next":null}
            """
        let body = """
            {"delivery":"dlv_1","seq":3,"event":"evt_3","to":"jane@example.com","type":"text/plain",\
            "subject":"We have received your payment","text":"Thank you.\\r\\nGoodbye\\u001b[31m",\
            "sent_at":"2026-11-20T09:30:01.000Z","as_sent":false}
            """
        let (named, asked) = try await Self.run(
            ["delivery", "message", "dlv_1", "--seq", "3"],
            [body]
        )
        #expect(asked == ["GET /v1/deliveries/dlv_1/messages/3 HTTP/1.1"])
        #expect(named.status == 0, "\(named.errors)")
        #expect(
            named.output.contains("subject  We have received your payment\n"),
            "\(named.output)"
        )
        #expect(named.output.hasSuffix("\n\nThank you.\nGoodbye?[31m\n"), "\(named.output)")
        #expect(named.output.contains("differs"))
        let (newest, requests) = try await Self.run(
            ["delivery", "message", "dlv_1"],
            [attempts, body]
        )
        #expect(newest.status == 0, "\(newest.errors)")
        #expect(requests.last == "GET /v1/deliveries/dlv_1/messages/3 HTTP/1.1")
        let untried = #"{"data":[],"has_more":false,"next":null}"#
        let (none, _) = try await Self.run(["delivery", "message", "dlv_1"], [untried])
        #expect(none.status == 64 && none.errors.contains("--seq"))
    }

    @Test("suppressed recipients are listed in pages and lifted by ID")
    func suppressions() async throws {
        let first = """
            {"data":[{"id":"pT0m3xAbCd12","recipient":"j…e@example.com","account":"default","reason":"unsubscribed",\
            "since":"2026-11-20T09:30:00.000Z"}],"has_more":true,"next":"abc"}
            """
        let last =
            #"{"data":[{"id":"Zz0m3xAbCd12","reason":"hard_bounce"}],"has_more":false,"next":null}"#
        let (done, requests) = try await Self.run(["mail", "list"], [first, last])
        #expect(
            requests.map { $0.split(separator: " ")[1] } == [
                "/v1/mail/suppressions?limit=100", "/v1/mail/suppressions?limit=99&cursor=abc",
            ]
        )
        #expect(
            done.output == """
                pT0m3xAbCd12\tj…e@example.com\tunsubscribed\t2026-11-20T09:30:00.000Z\tdefault
                Zz0m3xAbCd12\t-\thard_bounce\t-\t-

                """
        )
        let entry = #"{"id":"pT0m3xAbCd12","recipient":"j…e@example.com","reason":"unsubscribed"}"#
        let (lifted, asked) = try await Self.run(
            ["mail", "lift", "--entry", "pT0m3xAbCd12"],
            [entry]
        )
        #expect(asked == ["DELETE /v1/mail/entries/pT0m3xAbCd12 HTTP/1.1"])
        #expect(lifted.output == "j…e@example.com receives email again\n")
        #expect(try await Self.run(["mail", "lift"], []).done.status == 64)
        #expect(
            try await Self.run(["mail", "lift", "a@b.example", "--entry", "x"], []).done.status
                == 64
        )
    }

    @Test("--paid-twice filters orders")
    func paidTwice() async throws {
        let empty = #"{"data":[],"has_more":false,"next":null}"#
        let (done, requests) = try await Self.run(["order", "list", "--paid-twice"], [empty])
        #expect(done.status == 0, "\(done.errors)")
        #expect(requests == ["GET /v1/orders?paid_twice=true&limit=100 HTTP/1.1"])
    }

    /// Runs the program against a server that returns these responses in order.
    private static func run(
        _ arguments: [String],
        _ bodies: [String]
    ) async throws -> (done: CommandRun, requests: [String]) {
        let answers = Answers(bodies)
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Answering(answers))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = server.localAddress?.port ?? 0
        let done = try await CommandRun.run(arguments, url: "http://127.0.0.1:\(port)")
        try await server.close()
        return (done, answers.requests)
    }
}

/// Responses in order, and the request lines received.
private final class Answers: Sendable {
    private let state: Mutex<(rest: [String], requests: [String])>

    init(_ bodies: [String]) { state = Mutex((bodies, [])) }

    var requests: [String] { state.withLock(\.requests) }

    func next(to request: String) -> String {
        state.withLock { state in
            state.requests.append(request)
            return state.rest.isEmpty ? "{}" : state.rest.removeFirst()
        }
    }
}

/// Responds to a request as soon as its head has arrived.
///
/// It runs on the event loop, because a task may run too late while hundreds of tests wait.
private final class Answering: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let answers: Answers
    private var head = ""

    init(_ answers: Answers) { self.answers = answers }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        head += String(buffer: unwrapInboundIn(data))
        guard head.contains("\r\n\r\n") else { return }
        let body = answers.next(to: head.split(separator: "\r\n").first.map(String.init) ?? "")
        let answer = ByteBuffer(
            string: "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n"
                + "content-length: \(body.utf8.count)\r\n\r\n\(body)"
        )
        context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
        context.close(promise: nil)
    }
}
