import Foundation
import PollerTesting
import Testing

@testable import PollerGateway

@Suite(
    "WebSocket conformance",
    .enabled(
        if: Autobahn.command != nil,
        "needs the Autobahn test suite: POLLER_AUTOBAHN_DIR, or Tests/Peers/install-autobahn"
    )
)
struct AutobahnTests {
    /// The even groups of 9 repeat the large messages of the odd ones as binary, without the check of UTF-8.
    private static let binary = ["9.2.*", "9.4.*", "9.6.*", "9.8.*"]

    @Test("Autobahn's groups 1 to 7, 9 and 10 have no failed case")
    func conformance() async throws {
        try await EchoServer.run { port in
            let groups = ["1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "10.*"]
            let large = ["9.1.*", "9.3.*", "9.5.*", "9.7.*"]
            let binary = HostileNumbers.isLongRun ? Self.binary : []
            let results = try await Autobahn.test(port: port, cases: groups + large + binary)
            // Each group of 9 has six cases or more.
            #expect(results.count > 215 + binary.count * 6)
            let failed = results.filter(\.isFailed).map(\.id).sorted()
            #expect(failed.isEmpty, "failed: \(failed)")
        }
    }
}

/// The Autobahn test suite for WebSockets: a client with 250 test cases for a server.
///
/// `POLLER_AUTOBAHN_DIR` names the folder with `wstest`. Without it, `Tests/Peers/install-autobahn` installs the suite
/// once into `.build/autobahn`.
enum Autobahn {
    /// The result of a case.
    struct Result: Hashable {
        let id: String
        /// `OK`, `NON-STRICT`, `INFORMATIONAL`, `UNIMPLEMENTED` or `FAILED`.
        let behavior: String
        let closing: String

        var isFailed: Bool { behavior == "FAILED" || closing == "FAILED" }
    }

    /// The suite's command, or `nil` if it is missing and cannot be installed.
    static let command: URL? = {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let folder =
            ProcessInfo.processInfo.environment["POLLER_AUTOBAHN_DIR"].map(
                URL.init(fileURLWithPath:)
            )
            ?? root.appendingPathComponent(".build/autobahn")
        let command = folder.appendingPathComponent("wstest")
        if FileManager.default.isExecutableFile(atPath: command.path) { return command }
        let installer = root.appendingPathComponent("Tests/Peers/install-autobahn")
        guard FileManager.default.isExecutableFile(atPath: installer.path),
            (try? install(installer, [folder.path])) == 0
        else { return nil }
        return command
    }()

    /// Runs groups of cases against an echo server.
    static func test(port: Int, cases: [String]) async throws -> [Result] {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("autobahn-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let spec = folder.appendingPathComponent("spec.json")
        let plan: [String: Any] = [
            "outdir": folder.path, "cases": cases, "exclude-cases": [],
            "servers": [["agent": "poller", "url": "ws://127.0.0.1:\(port)"]],
        ]
        try JSONSerialization.data(withJSONObject: plan).write(to: spec)
        let command = try #require(command)
        #expect(try await run(command, ["-m", "fuzzingclient", "-s", spec.path]) == 0)
        let data = try Data(contentsOf: folder.appendingPathComponent("index.json"))
        let report =
            try JSONSerialization.jsonObject(with: data) as? [String: [String: [String: Any]]]
        return try #require(report?["poller"]).map { id, found in
            Result(
                id: id,
                behavior: found["behavior"] as? String ?? "",
                closing: found["behaviorClose"] as? String ?? ""
            )
        }
    }

    /// Waits without blocking a thread, because there is only one per core and other tests need them.
    private static func run(_ command: URL, _ arguments: [String]) async throws -> Int32 {
        let process = quiet(command, arguments)
        return try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    private static func install(_ command: URL, _ arguments: [String]) throws -> Int32 {
        let process = quiet(command, arguments)
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }

    private static func quiet(_ command: URL, _ arguments: [String]) -> Process {
        let process = Process()
        process.executableURL = command
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        return process
    }
}
