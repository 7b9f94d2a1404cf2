import Foundation
import StripeAPI
import Synchronization

/// A reader that returns prepared answers in order and advances the clock like its requests would.
///
/// A class, so that the poller and the test share the requests. The last answer is repeated.
final class ScriptedReader: SourceReader {
    /// A prepared answer.
    enum Answer: Sendable {
        case status(String)
        case failure(StripeError)
        case snapshot(SourceSnapshot)
        /// A status, held back until the test releases it.
        case held(String)
    }

    private let answers: [Answer]
    private let received = Mutex<[SourceReadRequest]>([])
    private let gate = Mutex<[CheckedContinuation<Void, Never>]>([])
    private let onRead: @Sendable () -> Void

    /// `onRead` is called for each request, to advance the time.
    init(_ answers: [Answer], onRead: @escaping @Sendable () -> Void = {}) {
        self.answers = answers
        self.onRead = onRead
    }

    /// The requests so far.
    var requests: [SourceReadRequest] { received.withLock { $0 } }

    /// Releases the request that has been held longest.
    func release() {
        gate.withLock { $0.isEmpty ? nil : $0.removeFirst() }?.resume()
    }

    /// The number of held requests.
    var heldCount: Int { gate.withLock { $0.count } }

    func read(_ request: SourceReadRequest) async throws(StripeError) -> SourceSnapshot {
        let count = received.withLock { requests in
            requests.append(request)
            return requests.count
        }
        onRead()
        switch answers[min(count, answers.count) - 1] {
        case .status(let status): return SourceSnapshot(source: .test(status))
        case .failure(let error): throw error
        case .snapshot(let snapshot): return snapshot
        case .held(let status):
            await withCheckedContinuation { continuation in
                gate.withLock { $0.append(continuation) }
            }
            return SourceSnapshot(source: .test(status))
        }
    }
}

extension Source {
    /// Creates a Source from a few fields; `more` has further members of its JSON.
    static func test(
        _ status: String = "pending",
        type: String = "ideal",
        _ more: String = ""
    ) -> Source {
        let json = """
            {"id":"src_1","object":"source","type":"\(type)","status":"\(status)","livemode":false,
            "client_secret":"src_client_secret_x"\(more.isEmpty ? "" : "," + more)}
            """
        do {
            return try JSONDecoder().decode(Source.self, from: Data(json.utf8))
        } catch {
            preconditionFailure("the test's source is malformed: \(error)")
        }
    }
}

extension StripeError {
    /// An error response with a status.
    static func status(_ status: Int) -> StripeError {
        .api(APIFailure(status: status, error: nil, headers: StripeHeaders()))
    }

    /// A missing response.
    static func lost(_ kind: TransportFailure.Kind) -> StripeError {
        .transport(TransportFailure(kind: kind, detail: "test"))
    }
}
