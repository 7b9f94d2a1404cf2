import Poller
import PollerIdentity
import PollerNet
import PollerQueue
import PollerWatches
import Synchronization
import Testing

@testable import PollerPayments
@testable import PollerUpstreams

@Suite("JSON responses with unusual headers or encodings")
struct JSONAnswerTests {
    private static let json = #"{"payment":{"state":"open"}}"#
    private static let gzip: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xAB, 0x56, 0x2A, 0x48,
        0xAC, 0xCC, 0x4D, 0xCD, 0x2B, 0x51, 0xB2, 0xAA, 0x56, 0x2A, 0x2E, 0x49, 0x2C, 0x49,
        0x55, 0xB2, 0x52, 0xCA, 0x2F, 0x48, 0xCD, 0x53, 0xAA, 0xAD, 0x05, 0x00, 0x0B, 0x5E,
        0x9D, 0xCA, 0x1C, 0x00, 0x00, 0x00,
    ]
    private static let zlib: [UInt8] = [
        0x78, 0x9C, 0xAB, 0x56, 0x2A, 0x48, 0xAC, 0xCC, 0x4D, 0xCD, 0x2B, 0x51, 0xB2, 0xAA,
        0x56, 0x2A, 0x2E, 0x49, 0x2C, 0x49, 0x55, 0xB2, 0x52, 0xCA, 0x2F, 0x48, 0xCD, 0x53,
        0xAA, 0xAD, 0x05, 0x00, 0x92, 0x39, 0x0A, 0x02,
    ]
    private static let deflate: [UInt8] = [
        0xAB, 0x56, 0x2A, 0x48, 0xAC, 0xCC, 0x4D, 0xCD, 0x2B, 0x51, 0xB2, 0xAA, 0x56, 0x2A,
        0x2E, 0x49, 0x2C, 0x49, 0x55, 0xB2, 0x52, 0xCA, 0x2F, 0x48, 0xCD, 0x53, 0xAA, 0xAD,
        0x05, 0x00,
    ]

    @Test(
        "a response is read by its content, whatever its content type",
        arguments: [
            "application/json", "text/json; charset=utf-8", "text/plain",
            "text/html; charset=UTF-8",
            "application/octet-stream",
        ]
    )
    func types(type: String) async throws {
        let answer = StubServer.Answer(headers: [("content-type", type)], body: Self.json)
        #expect(try await status(answer) == "open")
    }

    @Test("byte order marks of UTF-8 and UTF-16 are ignored")
    func marks() async throws {
        #expect(try await status([0xEF, 0xBB, 0xBF] + Self.json.utf8) == "open")
        let little: [UInt8] = Self.json.utf8.flatMap { [$0, 0] as [UInt8] }
        #expect(try await status([0xFF, 0xFE] + little) == "open")
        let big: [UInt8] = Self.json.utf8.flatMap { [0, $0] as [UInt8] }
        #expect(try await status([0xFE, 0xFF] + big) == "open")
    }

    @Test("Latin-1 is read if the content type names it, and is stored as UTF-8")
    func latin() async throws {
        // The euro sign in Windows-1252, and "\u{DC}" in Latin-1.
        let body = Array(#"{"payment":{"state":""#.utf8) + [0x80, 0xDC] + Array(#""}}"#.utf8)
        for charset in ["ISO-8859-1", "\"latin1\"", "windows-1252"] {
            let type = "application/json; charset=\(charset)"
            #expect(try await status(body, type: type) == "\u{20AC}\u{DC}")
        }
        #expect(try await reason(body).contains("names no charset"))
        let other = try await reason(body, type: "application/json; charset=koi8-r")
        #expect(other.contains("koi8-r"))
        // Many servers declare Latin-1 for a body in UTF-8.
        let utf8 = Array(#"{"payment":{"state":"\#u{DC}"}}"#.utf8)
        #expect(try await status(utf8, type: "text/json; charset=iso-8859-1") == "\u{DC}")
    }

    @Test("a compressed body is decompressed, with or without a header")
    func packed() async throws {
        for (coding, body) in [
            ("gzip", Self.gzip), ("X-GZIP", Self.gzip), ("deflate", Self.zlib),
            ("deflate", Self.deflate), ("identity", Self.gzip), ("gzip", Array(Self.json.utf8)),
        ] {
            #expect(try await status(body, coding: coding) == "open", "\(coding)")
        }
        #expect(try await status(Self.gzip) == "open")
    }

    @Test("a body that cannot be decompressed is rejected with the reason")
    func damaged() async throws {
        let cut = Array(Self.gzip.dropLast(9))
        #expect(try await reason(cut, coding: "gzip").contains("damaged or truncated"))
        #expect(try await reason(Self.gzip, coding: "br").contains("encoded as br"))
    }

    @Test("a small body that decompresses to more than the limit is rejected")
    func bomb() async throws {
        let message = try await reason(Self.blanks(runs: 5000), coding: "deflate")
        #expect(message.contains("exceeds 1048576 bytes once it is unpacked"))
    }

    @Test("the reason names the content type of a page, and an empty response")
    func page() async throws {
        let page = try await reason(Array("<html>".utf8), type: "text/html; charset=utf-8")
        #expect(page.hasPrefix("the content type is text/html, and the answer is not JSON"))
        #expect(try await reason([]) == "the answer is empty")
        #expect(try await reason(Array("{".utf8)).hasPrefix("the answer is not JSON"))
    }

    private func status(
        _ body: [UInt8],
        type: String = "application/json",
        coding: String? = nil
    ) async throws -> String? {
        try await status(answer(body, type, coding))
    }

    private func reason(
        _ body: [UInt8],
        type: String = "application/json",
        coding: String? = nil
    ) async throws -> String {
        guard case .malformed(let reason) = try await result(answer(body, type, coding)) else {
            Issue.record("it was understood")
            return ""
        }
        return reason
    }

    private func answer(_ body: [UInt8], _ type: String, _ coding: String?) -> StubServer.Answer {
        let headers =
            [("content-type", type)] + (coding.map { [("content-encoding", $0)] } ?? [])
        return StubServer.Answer(headers: headers, bytes: body)
    }

    private func status(_ answer: StubServer.Answer) async throws -> String? {
        guard case .observed(let seen) = try await result(answer) else { return nil }
        return seen.status.description
    }

    private func result(_ answer: StubServer.Answer) async throws -> PollResult {
        let found = Mutex<PollResult?>(nil)
        try await StubServer.run { server in
            server.answer(answer)
            let source = try HTTPSource(
                name: AccountID("bank"),
                url: "http://127.0.0.1:\(server.port)/{id}",
                status: JSONPointer("/payment/state"),
                final: ["settled"],
                timeout: .seconds(5),
                limit: .unlimited
            )
            let start = Timestamp(ms: 1_795_000_000_000)
            let upstream = HTTPUpstream(
                sources: [source],
                guarding: AddressGuard(allowing: try AddressRange.list("127.0.0.0/8")),
                resolver: SystemResolver(clock: ContinuousClock()),
                wallClock: { start }
            )
            let watch = Watch(
                key: WatchKey(account: source.name, source: try SourceID("pay-1"), kind: .http),
                policy: .standard,
                createdAt: start,
                deadline: start + .seconds(3600),
                run: 1,
                seq: 0
            )
            let result = await upstream.poll(watch, timeout: .seconds(8))
            found.withLock { $0 = result }
            await upstream.close()
        }
        return try #require(found.withLock { $0 })
    }

    /// A raw deflate stream of one blank and runs of 258 more (RFC 1951 §3.2.6, fixed codes).
    private static func blanks(runs: Int) -> [UInt8] {
        // The last block with fixed codes: a blank, each run with length 258 and distance 1, and the end.
        let run = bits(0xC5, 8) + bits(0, 5)
        var stream: [UInt8] = [1, 1, 0] + bits(0x50, 8)
        for _ in 0..<runs { stream += run }
        stream += bits(0, 7)
        return stride(from: 0, to: stream.count, by: 8).map { start in
            stream[start..<min(start + 8, stream.count)].enumerated()
                .reduce(0) { $0 | $1.element << UInt8(clamping: $1.offset) }
        }
    }

    /// The bits of a code, highest bit first.
    private static func bits(_ code: UInt8, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { code >> UInt8(clamping: $0) & 1 }
    }
}
