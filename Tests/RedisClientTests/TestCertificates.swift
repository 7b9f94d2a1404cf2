import Foundation
import PollerTesting

/// An authority and a certificate for 127.0.0.1 and localhost, made by openssl; removed with the
/// last reference.
final class TestCertificates {
    let files: RedisServerProcess.TLSFiles
    private let directory: URL

    init() throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("certificates-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        self.directory = directory
        func file(_ name: String) -> URL { directory.appendingPathComponent(name) }
        self.files = RedisServerProcess.TLSFiles(
            certificate: file("server.pem"),
            key: file("server.key"),
            authority: file("ca.pem")
        )
        let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        try Self.openssl(
            ["req", "-x509"] + newKey + [
                "-days", "2", "-subj", "/CN=Test authority", "-keyout", file("ca.key").path,
                "-out", file("ca.pem").path,
            ]
        )
        try Self.openssl(
            ["req"] + newKey + [
                "-subj", "/CN=redis", "-keyout", file("server.key").path, "-out",
                file("server.csr").path,
            ]
        )
        try Data("subjectAltName=IP:127.0.0.1,DNS:localhost".utf8).write(to: file("san"))
        try Self.openssl([
            "x509", "-req", "-in", file("server.csr").path, "-CA", file("ca.pem").path, "-CAkey",
            file("ca.key").path, "-CAcreateserial", "-days", "2", "-extfile", file("san").path,
            "-out", file("server.pem").path,
        ])
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)  // a temporary folder may stay behind
    }

    private static func openssl(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw CocoaError(.executableLoad, userInfo: ["arguments": arguments])
        }
    }
}
