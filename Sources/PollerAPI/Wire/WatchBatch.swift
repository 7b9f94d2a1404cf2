import JSONText
import Poller
import PollerIdentity
import PollerWire

/// The checked items of a batch, or a problem that lists what is wrong with them.
///
/// All or nothing: a batch with one wrong item enqueues none.
struct WatchBatch {
    /// A batch holds a worker of the API for a moment, and Redis for a few ms a thousand.
    static let countMax = 10_000
    /// Wrong items listed one by one; who gets twenty wrong has one cause.
    private static let errorsListedMax = 20

    /// Each item once, in groups of which none names a source twice: a source given again with
    /// other options joins the watch that the group before made, as two requests would.
    private(set) var groups: [[NewWatch]] = []
    /// Items left out because an equal one came before.
    private(set) var duplicates = 0

    /// Checks a JSON array, or with `isLines` one object a line; empty lines are skipped.
    ///
    /// `caller`: who sends it; `locator` tells whose a URL is, `endpoints` which URLs can be told.
    init(
        _ bytes: [UInt8],
        isLines: Bool,
        for caller: Caller,
        locator: (any SourceLocator)? = nil,
        endpoints: EndpointBackend? = nil
    ) throws(Problem) {
        let items = isLines ? try Self.lines(bytes) : try Self.array(bytes)
        guard !items.isEmpty else {
            throw Problem(.invalidValue, "The batch is empty: send at least one watch.")
        }
        var seen: Set<NewWatch> = []
        var timesSeen: [WatchKey: Int] = [:]
        var errors: [ProblemReport.Item] = []
        var errorsTotal = 0
        for (index, item) in items.enumerated() {
            do throws(Problem) {
                let request = try Problem.reading(WatchRequest.self, item)
                let new = try NewWatch(
                    request,
                    for: caller,
                    locator: locator,
                    endpoints: endpoints
                )
                guard seen.insert(new).inserted else {
                    duplicates += 1
                    continue
                }
                let group = timesSeen[new.key, default: 0]
                timesSeen[new.key] = group + 1
                if group == groups.count { groups.append([]) }
                groups[group].append(new)
            } catch  where error.code == .notAllowed {
                // One item or all of them: the key is the wrong one.
                throw error
            } catch {
                errorsTotal += 1
                if errors.count < Self.errorsListedMax {
                    errors.append(ProblemReport.Item(error, index: index))
                }
            }
        }
        guard errors.isEmpty else {
            var problem = Problem(
                .invalidBatch,
                "\(errorsTotal) of \(items.count) items are wrong; correct them and send the batch "
                    + "again. Nothing was enqueued."
            )
            problem.errors = errors
            problem.errorsTotal = errorsTotal
            throw problem
        }
    }

    /// Gives all of them the trace of the request that brings them.
    mutating func carry(_ trace: TraceContext?) {
        guard trace != nil else { return }
        for group in groups.indices {
            for place in groups[group].indices { groups[group][place].trace = trace }
        }
    }

    private static func array(_ bytes: [UInt8]) throws(Problem) -> [RawJSON] {
        let value = try Problem.checkedJSON(bytes)
        guard let items = value.elements else {
            throw Problem(
                .wrongType,
                "A batch must be an array of watches, not \(value.kind.name); for one object a "
                    + "line send Content-Type: application/x-ndjson."
            )
        }
        try checkCount(items.count)
        return items
    }

    private static func lines(_ bytes: [UInt8]) throws(Problem) -> [RawJSON] {
        var items: [RawJSON] = []
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: 0x0A) ?? bytes.count
            let isBlank = bytes[start..<end].allSatisfy { $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }
            if !isBlank {
                try checkCount(items.count + 1)
                items.append(try Problem.checkedJSON(bytes, start..<end))
            }
            start = end + 1
        }
        return items
    }

    private static func checkCount(_ count: Int) throws(Problem) {
        guard count <= countMax else {
            throw Problem(
                .invalidValue,
                "A batch holds at most \(countMax) watches; send several batches."
            )
        }
    }
}

extension ProblemReport.Item {
    /// What is wrong with the item at this place.
    init(_ problem: Problem, index: Int) {
        self.init()
        self.index = index
        code = problem.code.rawValue
        field = problem.field
        detail = problem.detail
    }
}
