import Foundation
import NIOCore
import PollerNet

/// A self-signed certificate for one name, created by `openssl`.
struct SelfSigned {
    private let folder: URL
    let certificate: String
    let key: String

    init(name: String) throws {
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("cert-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        certificate = folder.appendingPathComponent("cert.pem").path
        key = folder.appendingPathComponent("key.pem").path
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-subj", "/CN=\(name)", "-addext",
            "subjectAltName=DNS:\(name)", "-keyout", key, "-out", certificate,
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw CocoaError(.executableLoad)
        }
    }

    /// Removes the files; errors are ignored, so the temporary folder may remain.
    func remove() {
        try? FileManager.default.removeItem(at: folder)
    }
}

/// Resolves names from a table; addresses resolve to themselves.
struct FixedResolver: AddressResolver {
    private let table: [String: [String]]

    init(_ table: [String: [String]]) {
        self.table = table
    }

    func addresses(host: String, port: Int) async throws(ResolutionFailure) -> [SocketAddress] {
        let found = (table[host] ?? [host])
            .compactMap { try? SocketAddress(ipAddress: $0, port: port) }
        guard !found.isEmpty else { throw ResolutionFailure(reason: "not in the table") }
        return found
    }
}
