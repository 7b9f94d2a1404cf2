import PollerIdentity
import PollerOperations

// The wire format of spans: `ExportTraceServiceRequest` of OTLP, in protobuf.
//
// *Source*: opentelemetry-proto 1.x, `trace/v1/trace.proto`; field numbers never change. Written by
// hand, because swift-protobuf would be one more library to build, with generated code a hundred
// times as long, for ten message types that are written and never read. The tests read the output
// with the messages of opentelemetry-proto.

/// Writes protobuf: each field as its number, its wire type and its bytes.
struct ProtobufWriter {
    private(set) var bytes: [UInt8] = []

    /// Writes a whole number; 0 is the default of a missing field and is omitted.
    mutating func number(_ field: Int, _ value: UInt64) {
        guard value != 0 else { return }
        tag(field, 0)
        varint(value)
    }

    /// Writes a number of eight bytes.
    mutating func fixed64(_ field: Int, _ value: UInt64) {
        tag(field, 1)
        for place in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * place))) }
    }

    /// Writes a number of four bytes.
    mutating func fixed32(_ field: Int, _ value: UInt32) {
        tag(field, 5)
        for place in 0..<4 { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * place))) }
    }

    mutating func bytes(_ field: Int, _ value: some Collection<UInt8>) {
        tag(field, 2)
        varint(UInt64(clamping: value.count))
        bytes += value
    }

    mutating func text(_ field: Int, _ value: String) { bytes(field, Array(value.utf8)) }

    /// Writes a nested message.
    mutating func message(_ field: Int, _ write: (inout ProtobufWriter) -> Void) {
        var inner = ProtobufWriter()
        write(&inner)
        bytes(field, inner.bytes)
    }

    private mutating func tag(_ field: Int, _ wire: UInt64) {
        varint(UInt64(clamping: field) << 3 | wire)
    }

    private mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }
}

/// The source of spans: one process of the cluster.
package struct TracedProcess: Hashable, Sendable {
    /// `service.name`, `service.instance.id`, `service.version` and further names.
    let attributes: [String: String]
    let version: String

    /// Makes the description of a process.
    ///
    /// - Parameters:
    ///   - service: its name among all services, such as `pollerd-worker`.
    ///   - instance: the name of the instance.
    ///   - version: the version of its program.
    package init(service: String, instance: String, version: String) {
        self.version = version
        attributes = [
            "service.name": service, "service.instance.id": instance, "service.version": version,
            "telemetry.sdk.name": "poller", "telemetry.sdk.language": "swift",
            "telemetry.sdk.version": version,
        ]
    }
}

extension TracedProcess {
    /// Returns the request that exports spans.
    func request(of spans: [SpanRecord]) -> [UInt8] {
        var request = ProtobufWriter()
        request.message(1) { resourceSpans in
            resourceSpans.message(1) { resource in
                for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
                    resource.attribute(1, name, .text(value))
                }
            }
            resourceSpans.message(2) { scopeSpans in
                scopeSpans.message(1) { scope in
                    scope.text(1, "poller")
                    scope.text(2, version)
                }
                for span in spans { scopeSpans.message(2) { $0.write(span) } }
            }
        }
        return request.bytes
    }
}

extension ProtobufWriter {
    fileprivate mutating func write(_ span: SpanRecord) {
        bytes(1, span.trace.traceBytes)
        bytes(2, span.trace.spanBytes)
        if let parent = span.parent { bytes(4, parent.spanBytes) }
        text(5, span.work.rawValue)
        number(6, span.work.kind)
        fixed64(7, span.began)
        fixed64(8, span.ended)
        // Sorted by name, so that equal attributes have equal bytes; of equal names the last is written.
        let pairs = span.facts.all.map { ($0.name, $0.value) }
        let attributes = Dictionary(pairs, uniquingKeysWith: { $1 })
        for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
            attribute(9, name, value)
        }
        if let link = span.link {
            message(13) { message in
                message.bytes(1, link.traceBytes)
                message.bytes(2, link.spanBytes)
                message.fixed32(6, UInt32(clamping: link.flags))
            }
        }
        if let error = span.facts.error {
            message(15) { status in
                status.text(2, error)
                status.number(3, 2)
            }
        }
        fixed32(16, UInt32(clamping: span.trace.flags))
    }

    /// Writes a `KeyValue`.
    fileprivate mutating func attribute(_ field: Int, _ name: String, _ value: SpanFacts.Value) {
        message(field) { pair in
            pair.text(1, name)
            pair.message(2) { any in
                switch value {
                case .text(let text): any.text(1, text)
                case .number(let number): any.chosen(3, UInt64(bitPattern: Int64(clamping: number)))
                }
            }
        }
    }

    /// Writes a number that is a member of a `oneof`: the set member is written even if it is 0.
    private mutating func chosen(_ field: Int, _ value: UInt64) {
        tag(field, 0)
        varint(value)
    }
}

extension TracedWork {
    /// The span kind, which describes the direction of the call: internal, server or client.
    fileprivate var kind: UInt64 {
        switch self {
        case .change: 1
        case .enqueue: 2
        case .poll, .delivery: 3
        }
    }
}
