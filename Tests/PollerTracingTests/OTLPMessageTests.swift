import PollerIdentity
import PollerTesting
import Testing

@testable import PollerOperations
@testable import PollerTracing

/// The bytes sent to a collector, and the configuration of collectors.
@Suite struct OTLPMessageTests {
    @Test("numbers are encoded as protobuf specifies")
    func numbers() {
        var writer = ProtobufWriter()
        writer.number(1, 0)
        writer.number(1, 150)
        writer.text(2, "testing")
        writer.fixed32(16, 1)
        writer.fixed64(1, 2)
        writer.message(3) { $0.number(1, 150) }
        // The examples of <https://protobuf.dev/programming-guides/encoding/>.
        #expect(
            writer.bytes == [0x08, 0x96, 0x01, 0x12, 0x07] + Array("testing".utf8)
                + [
                    0x85, 0x01, 1, 0, 0, 0, 0x09, 2, 0, 0, 0, 0, 0, 0, 0, 0x1A, 0x03, 0x08, 0x96,
                    0x01,
                ]
        )
    }

    @Test("equal spans have equal bytes, which contain each of the IDs")
    func request() {
        let process = TracedProcess(service: "pollerd-worker", instance: "a", version: "1.2.3")
        var span = SpanRecord(
            trace: Samples.trace,
            parent: Samples.trace.child(span: 7),
            work: .delivery,
            link: nil,
            began: 1,
            ended: 2
        )
        for name in ["b", "a", "c"] { span.facts.add(name, 0) }
        let bytes = process.request(of: [span])
        #expect(bytes == process.request(of: [span]))
        #expect(bytes.contains(Samples.trace.traceBytes + Samples.trace.spanBytes, between: 2))
        #expect(process.request(of: [span, span]).count > bytes.count)
    }

    @Test("a collector has a base URL and may require headers")
    func collector() throws {
        let plain = try OTLPCollector(endpoint: "http://collector:4318/")
        #expect(plain.url == "http://collector:4318/v1/traces")
        #expect(try OTLPCollector(endpoint: "http://c/base").url == "http://c/base/v1/traces")
        for headers in ["authorization=Bearer%20a%3Db", "x-a=1, x-b = 2 ,", ""] {
            _ = try OTLPCollector(endpoint: "http://c", headers: headers)
        }
        for headers in ["authorization", "=1", "a b:c=1", "a=%0d%0aX: 1", "a=%zz", "ä=1", "a=ä"] {
            #expect(throws: InvalidInput.self, "\(headers)") {
                try OTLPCollector(endpoint: "http://c", headers: headers)
            }
        }
    }

    @Test("the start and the end of an outage are logged, at least a minute apart")
    func outages() {
        var outage = ExportOutage<ManualClock.Instant>()
        func at(_ seconds: Int) -> ManualClock.Instant { .init(offset: .seconds(seconds)) }
        // Each step, and the logged value, if any.
        let logged: [Int?] = [
            outage.end(),
            outage.begin(losing: 2, at: at(0), quiet: .seconds(60)) ? -1 : nil,
            outage.begin(losing: 3, at: at(5), quiet: .seconds(60)) ? -1 : nil,
            outage.end(),
            outage.begin(losing: 1, at: at(59), quiet: .seconds(60)) ? -1 : nil,
            outage.end(),
            outage.begin(losing: 1, at: at(61), quiet: .seconds(60)) ? -1 : nil,
            outage.end(),
        ]
        #expect(logged == [nil, -1, nil, 5, nil, nil, -1, 2])
    }
}

extension [UInt8] {
    /// Whether the first 16 of some bytes occur here, followed by the others at a distance.
    fileprivate func contains(_ ids: [UInt8], between gap: Int) -> Bool {
        indices.contains { start in
            dropFirst(start).starts(with: ids.prefix(16))
                && dropFirst(start + 16 + gap).starts(with: ids.dropFirst(16))
        }
    }
}
